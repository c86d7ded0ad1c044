internal import Glibc

/// A signal as users write it: `TERM`, `SIGTERM`, `15`.
struct SignalName: Equatable, Sendable, CustomStringConvertible {
    let number: Int32

    static let examples = "ABRT, QUIT, TERM, USR1, or a number from 1 to 64"

    private static let names: [(String, Int32)] = [
        ("HUP", SIGHUP), ("INT", SIGINT), ("QUIT", SIGQUIT), ("ILL", SIGILL), ("TRAP", SIGTRAP), ("ABRT", SIGABRT),
        ("BUS", SIGBUS), ("FPE", SIGFPE), ("KILL", SIGKILL), ("USR1", SIGUSR1), ("SEGV", SIGSEGV), ("USR2", SIGUSR2),
        ("PIPE", SIGPIPE), ("ALRM", SIGALRM), ("TERM", SIGTERM), ("CHLD", SIGCHLD), ("CONT", SIGCONT), ("STOP", SIGSTOP),
        ("TSTP", SIGTSTP), ("TTIN", SIGTTIN), ("TTOU", SIGTTOU), ("URG", SIGURG), ("XCPU", SIGXCPU), ("XFSZ", SIGXFSZ),
        ("VTALRM", SIGVTALRM), ("PROF", SIGPROF), ("WINCH", SIGWINCH), ("IO", SIGIO), ("PWR", SIGPWR), ("SYS", SIGSYS),
    ]

    init(number: Int32) { self.number = number }

    init?(_ text: String) {
        if let number = Int32(text) {
            guard (1...64).contains(number) else { return nil }
            self.number = number
            return
        }
        let upper = text.uppercased()
        let name = upper.hasPrefix("SIG") ? String(upper.dropFirst(3)) : upper
        guard let known = Self.names.first(where: { $0.0 == name }) else { return nil }
        number = known.1
    }

    var description: String { Self.names.first { $0.1 == number }.map { "SIG" + $0.0 } ?? "signal \(number)" }
}
