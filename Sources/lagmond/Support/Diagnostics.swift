internal import Glibc
internal import LagModel
internal import LagMonitor

/// lagmond's messages to people, on stderr. stdout carries records and nothing else.
enum Diagnostics {
    /// The prefix of every message: the name by which the program was started.
    private static let program = ProcessArguments.all.first?.split(separator: "/").last.map(String.init) ?? "lagmond"

    /// Of a message whose reader is behind, where stderr is in non-blocking mode; and of all of them at the end.
    private static let longestWait: Duration = .seconds(1)

    /// Who reports waits for no reader: one that stands still (a log collector that hangs, a terminal after ^S) blocks a write for good.
    private static let queue = PthreadMutex<MessageQueue?>(nil)
    /// The next message that is written says how many were dropped.
    private static let mostQueued = 1000

    /// Writes one line to stderr, with one `write` where the kernel accepts it whole. Any thread.
    ///
    /// Names in the message may be a watched program's choice: they are shown without what changes a terminal (``PlainText``).
    static func report(_ message: String) {
        let line = line(message)
        if let queue = queue.withLock({ $0 }) { queue.add(line) } else { write(line) }
    }

    /// The bytes of a message.
    static func line(_ message: String) -> [UInt8] { Array("\(PlainText.sanitized("\(program): \(message)"))\n".utf8) }

    @Sendable private static func write(_ line: [UInt8]) {
        _ = WholeWrite.write(line, to: STDERR_FILENO, waitMilliseconds: Int32(longestWait / .milliseconds(1)))
    }

    /// Has a thread of their own write the messages from now on, where the system has one to give: of a run that supervises. Its signals are
    /// blocked by then.
    static func beginQueueing() {
        queue.withLock { queue in
            if queue == nil { queue = MessageQueue.start(most: mostQueued, write: write) }
        }
    }

    /// Waits until the messages are written, a second at most: before this process ends.
    static func flush() {
        guard let queue = queue.withLock({ $0 }) else { return }
        let deadline = MonotonicTime.now + longestWait
        while !queue.isEmpty, MonotonicTime.now < deadline { usleep(1000) }
    }

    /// The text of an error number.
    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Opens `/dev/null` for each standard descriptor that is closed, so that no file opened later gets its number, and with it
    /// its output. stdout is opened for reading: a record for it is refused, not lost.
    static func reserveStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", (descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        }
    }
}
