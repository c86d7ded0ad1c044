internal import Glibc
internal import LagReader
internal import Synchronization

/// Shows on a terminal how much of a long input has been read; silent elsewhere, and for short inputs.
final class ProgressLine: Sendable {
    let progress: ReadProgress
    private let isOver = Atomic<Bool>(false)
    private let isShown = Atomic<Bool>(false)

    private static let firstMicroseconds: UInt32 = 1_000_000
    private static let nextMicroseconds: UInt32 = 250_000

    init(_ files: [InputFile]) {
        progress = ReadProgress(total: files.reduce(0) { $0 + ($1.bytes ?? 0) })
        guard isatty(STDERR_FILENO) == 1 else { return }
        try? HelperThread.start("progress") { [weak self] in
            usleep(Self.firstMicroseconds)
            while let line = self, line.show() { usleep(Self.nextMicroseconds) }
        }
    }

    /// Wipes the line.
    func end() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        if isShown.load(ordering: .sequentiallyConsistent) { Self.write("\r\u{1b}[K") }
    }

    private func show() -> Bool {
        guard !isOver.load(ordering: .sequentiallyConsistent) else { return false }
        let done = progress.bytes
        let share = progress.total > 0 ? "\(min(100, done * 100 / progress.total)) % of " : ""
        let bytes = share.isEmpty ? done : progress.total
        isShown.store(true, ordering: .sequentiallyConsistent)
        Self.write("\rreading: \(share)\(bytes / 1_000_000) MB\u{1b}[K")
        // It may have ended between the two.
        if isOver.load(ordering: .sequentiallyConsistent) { Self.write("\r\u{1b}[K") }
        return true
    }

    private static func write(_ text: String) { _ = Glibc.write(STDERR_FILENO, text, text.utf8.count) }
}
