internal import Glibc
internal import LagMonitor

/// The size of the terminal; nil if there is none or it is unknown.
struct TerminalSize: Equatable {
    var columns: Int?
    var rows: Int?

    private static let leastColumns = 20

    /// The size of stdout's terminal; `COLUMNS` and `LINES` take precedence, also if stdout is not a terminal, as for `ps`. One
    /// system call.
    static func ofStandardOutput() -> TerminalSize {
        var window = winsize()
        let isTerminal = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0
        func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil } }
        func known(_ count: UInt16) -> Int? { isTerminal && count > 0 ? Int(count) : nil }
        return TerminalSize(
            columns: (number("COLUMNS") ?? known(window.ws_col)).map { max(leastColumns, $0) },
            rows: number("LINES") ?? known(window.ws_row)
        )
    }
}
