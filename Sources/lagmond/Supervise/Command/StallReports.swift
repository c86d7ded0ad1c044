internal import Synchronization

/// Runs what reports the stalls in progress, on a thread of its own: however many signals ask for it, one thread at a time. What asks while it
/// runs has it run once more. Any thread; returns at once.
final class StallReports: Sendable {
    private enum State { case idle, running, runningAndAsked }

    private let state = Mutex(State.idle)
    private let report: @Sendable () -> Void
    private let start: @Sendable (@escaping @Sendable () -> Void) throws -> Void

    /// - Parameters:
    ///   - start: of the thread; for tests.
    ///   - report: may wait.
    init(
        start: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void = {
            try HelperThread.start("stalls-at-end", $0)
        },
        report: @escaping @Sendable () -> Void
    ) {
        (self.start, self.report) = (start, report)
    }

    func request() {
        let isFirst = state.withLock { state in
            defer { state = state == .idle ? .running : .runningAndAsked }
            return state == .idle
        }
        guard isFirst else { return }
        do { try start { [self] in run() } } catch { state.withLock { $0 = .idle } }
    }

    private func run() {
        var isAsked = true
        while isAsked {
            report()
            isAsked = state.withLock { state in
                defer { state = state == .runningAndAsked ? .running : .idle }
                return state == .runningAndAsked
            }
        }
    }
}
