internal import Glibc
internal import LagModel

/// lagmond's messages to people, on stderr. stdout carries records and nothing else.
enum Diagnostics {
    /// The prefix of every message: the name by which the program was started.
    private static let program = ProcessArguments.all.first?.split(separator: "/").last.map(String.init) ?? "lagmond"

    /// Of a message whose reader is behind, where stderr is in non-blocking mode: the work does not stop for good because of it.
    private static let longestWaitMilliseconds: Int32 = 1000

    /// Writes one line to stderr, with one `write` where the kernel accepts it whole. Any thread.
    ///
    /// Names in the message may be a watched program's choice: they are shown without what changes a terminal (``PlainText``).
    static func report(_ message: String) {
        let line = Array("\(PlainText.sanitized("\(program): \(message)"))\n".utf8)
        _ = WholeWrite.write(line, to: STDERR_FILENO, waitMilliseconds: longestWaitMilliseconds)
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
