internal import Glibc
internal import LagModel
internal import LagMonitor

/// lagmond's messages to users, on stderr. stdout carries only records.
enum Diagnostics {
    /// The prefix of every message: the name by which the program was started.
    private static let program = ProcessArguments.all.first?.split(separator: "/").last.map(String.init) ?? "lagmond"

    /// The longest wait for a slow reader of one message if stderr is in non-blocking mode, and for all messages at the end.
    private static let longestWait: Duration = .seconds(1)

    /// A thread that reports must not wait for the reader: a stuck one (a hanging log collector, a terminal after ^S) blocks a
    /// write forever.
    private static let queue = PthreadMutex<MessageQueue?>(nil)
    /// More are dropped; the next message that is written says how many.
    private static let mostQueued = 1000

    /// Writes one line to stderr, with one `write` where the kernel accepts it whole. Any thread.
    ///
    /// A watched program may have chosen names in the message, so it is sanitized (``PlainText``).
    static func report(_ message: String) {
        let line = line(message)
        if let queue = queue.withLock({ $0 }) { queue.add(line) } else { write(line) }
    }

    /// The bytes of a message.
    static func line(_ message: String) -> [UInt8] { Array("\(PlainText.sanitized("\(program): \(message)"))\n".utf8) }

    @Sendable private static func write(_ line: [UInt8]) {
        _ = WholeWrite.write(line, to: STDERR_FILENO, waitMilliseconds: Int32(longestWait / .milliseconds(1)))
    }

    /// From now on a separate thread writes the messages, if the system can start one. For runs that supervise; call it after the
    /// signals are blocked.
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

    /// Opens `/dev/null` for each closed standard descriptor, so that no file opened later gets its number and thus its
    /// output. stdout is opened for reading, so that writing a record fails instead of losing it.
    static func reserveStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", (descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        }
    }
}
