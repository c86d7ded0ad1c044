internal import LagMonitor
internal import Synchronization

/// Reports the stalls in progress when a command is about to end, on a separate thread: one thread at a time, however many
/// signals request it. A request during a run causes one more run. Any thread; returns at once.
///
/// The command's reaction to the signal does not count: a program that cleans up and exits is not stalled. So only stalls count
/// that began before the signal arrived, however late the thread gets a processor.
final class StallReports: Sendable {
    private enum State {
        case idle, running
        case runningAndAsked(MonotonicTime)
    }

    /// A stall that began this shortly before may also be a reaction to the signal: if the signal went to the whole group, the
    /// command may have received it first.
    private static let skew = Duration.milliseconds(20)

    private let state = Mutex(State.idle)
    private let report: @Sendable (MonotonicTime) -> Void
    private let start: @Sendable (@escaping @Sendable () -> Void) throws -> Void

    /// - Parameters:
    ///   - start: starts the thread; for tests.
    ///   - report: reports the stalls that had begun by then; may wait.
    init(
        start: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void = {
            try HelperThread.start("stalls-at-end", $0)
        },
        report: @escaping @Sendable (MonotonicTime) -> Void
    ) {
        (self.start, self.report) = (start, report)
    }

    /// - Parameter time: when the signal arrived, or a time before it is sent.
    func request(endingAt time: MonotonicTime) {
        let begun = time + (.zero - Self.skew)
        let isFirst = state.withLock { state in
            guard case .idle = state else {
                state = .runningAndAsked(begun)
                return false
            }
            state = .running
            return true
        }
        guard isFirst else { return }
        do { try start { [self] in run(begun) } } catch { state.withLock { $0 = .idle } }
    }

    private func run(_ first: MonotonicTime) {
        var asked: MonotonicTime? = first
        while let begun = asked {
            report(begun)
            asked = state.withLock { state in
                guard case .runningAndAsked(let next) = state else {
                    state = .idle
                    return nil
                }
                state = .running
                return next
            }
        }
    }
}
