internal import Dispatch
internal import Glibc
internal import LagModel
internal import LagMonitor
internal import Synchronization

/// lagmond's messages to people, on stderr. stdout carries records and nothing else.
enum Diagnostics {
    /// The prefix of every message: the name by which the program was started.
    private static let program = ProcessArguments.all.first?.split(separator: "/").last.map(String.init) ?? "lagmond"

    /// Of a message whose reader is behind, where stderr is in non-blocking mode; and of all of them at the end.
    private static let longestWait: Duration = .seconds(1)

    /// Whether who reports waits for no reader: one that stands still (a log collector that hangs, a terminal after ^S) blocks a write for good.
    private static let isQueued = Atomic(false)
    private static let queue = DispatchQueue(label: "lagmond.messages")
    private static let queued = Atomic(0)
    /// Further messages are dropped, and counted: the next one that is written says how many.
    private static let mostQueued = 1000
    private static let dropped = Atomic(0)

    /// Writes one line to stderr, with one `write` where the kernel accepts it whole. Any thread.
    ///
    /// Names in the message may be a watched program's choice: they are shown without what changes a terminal (``PlainText``).
    static func report(_ message: String) {
        let line = Array("\(PlainText.sanitized("\(program): \(message)"))\n".utf8)
        guard isQueued.load(ordering: .relaxed) else { return write(line) }
        guard queued.add(1, ordering: .relaxed).newValue <= mostQueued else {
            queued.subtract(1, ordering: .relaxed)
            dropped.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            let lost = dropped.exchange(0, ordering: .relaxed)
            if lost > 0 { write(Array("\(program): \(lost) messages were dropped: stderr is not read\n".utf8)) }
            write(line)
            queued.subtract(1, ordering: .releasing)
        }
    }

    private static func write(_ line: [UInt8]) {
        _ = WholeWrite.write(line, to: STDERR_FILENO, waitMilliseconds: Int32(longestWait / .milliseconds(1)))
    }

    /// Has a thread of their own write the messages from now on: of a run that supervises. Its signals are blocked by then.
    static func beginQueueing() { isQueued.store(true, ordering: .relaxed) }

    /// Waits until the messages are written, a second at most: before this process ends.
    static func flush() {
        let deadline = MonotonicTime.now + longestWait
        while queued.load(ordering: .acquiring) > 0, MonotonicTime.now < deadline { usleep(1000) }
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
