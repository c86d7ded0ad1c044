internal import Glibc
internal import Synchronization

/// Messages that are held back while the command controls the terminal. Any thread.
final class HeldMessages: Sendable {
    private let waiting = Mutex<[String]>([])
    private let say: @Sendable (String) -> Void

    init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    func add(_ message: String) { waiting.withLock { $0.append(message) } }

    func flushIfShown() { if !Self.isTerminalTaken { flush() } }

    func flush() {
        let messages = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for message in messages { say(message) }
    }

    /// Whether stderr is a terminal that a program controls (vim, a shell that edits its line).
    private static var isTerminalTaken: Bool {
        var mode = termios()
        return tcgetattr(STDERR_FILENO, &mode) == 0 && mode.c_lflag & tcflag_t(ICANON) == 0
    }
}
