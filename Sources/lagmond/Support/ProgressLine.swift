internal import Glibc
internal import LagModel
internal import LagReader
internal import Synchronization

/// Shows on a terminal the progress of a read or a report that takes more than a second; otherwise silent.
final class ProgressLine: Sendable {
    private struct State {
        var isOver = false
        var isShown = false
        /// The work after the reading.
        var work: String?
    }

    let progress: ReadProgress
    private let state = Mutex(State())

    private static let firstMicroseconds: UInt32 = 1_000_000
    private static let nextMicroseconds: UInt32 = 250_000

    /// - Parameter isStreaming: whether output is written during the reading; then no progress is shown.
    init(_ files: [InputFile], isStreaming: Bool = false) {
        progress = ReadProgress(total: files.reduce(0 as UInt64) { $0.saturatingSum($1.bytes ?? 0) })
        guard isatty(STDERR_FILENO) == 1, !isStreaming || isatty(STDOUT_FILENO) == 0 else { return }
        try? HelperThread.start("progress") { [weak self] in
            usleep(Self.firstMicroseconds)
            while let line = self, line.show() { usleep(Self.nextMicroseconds) }
        }
    }

    /// Reading is done, and other work takes time.
    func working(on work: String) { state.withLock { $0.work = work } }

    /// Clears the line.
    func end() {
        state.withLock { state in
            state.isOver = true
            if state.isShown { Self.write("\r\u{1b}[K") }
        }
    }

    private func show() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.isShown = true
            Self.write("\r\(text(state.work))\u{1b}[K")
            return true
        }
    }

    private func text(_ work: String?) -> String {
        if let work { return work }
        return Self.text(done: progress.bytes, of: progress.total)
    }

    /// - Parameter total: bytes, possibly the huge size of a sparse file; 0: not known.
    static func text(done: UInt64, of total: UInt64) -> String {
        guard total > 0 else { return "reading: \(done / 1_000_000) MB" }
        return "reading: \(Int(min(100, Double(done) / Double(total) * 100))) % of \(total / 1_000_000) MB"
    }

    private static func write(_ text: String) { _ = Glibc.write(STDERR_FILENO, text, text.utf8.count) }
}
