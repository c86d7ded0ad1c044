internal import LagMonitor
internal import Synchronization

/// Runs what reports the stalls in progress when a command is to end, on a thread of its own: however many signals ask for it, one thread at a
/// time. What asks while it runs has it run once more. Any thread; returns at once.
///
/// What the command does because of the signal is not meant: a program that puts its things in order and exits is not stalled. So a stall counts
/// that began before the signal came, however late the thread gets a processor.
final class StallReports: Sendable {
    private enum State {
        case idle, running
        case runningAndAsked(MonotonicTime)
    }

    /// What began so shortly before may have followed from the signal as well: where that was for the whole group, the command got it first.
    private static let skew = Duration.milliseconds(20)

    private let state = Mutex(State.idle)
    private let report: @Sendable (MonotonicTime) -> Void
    private let start: @Sendable (@escaping @Sendable () -> Void) throws -> Void

    /// - Parameters:
    ///   - start: of the thread; for tests.
    ///   - report: of the stalls that had begun by then; may wait.
    init(
        start: @escaping @Sendable (@escaping @Sendable () -> Void) throws -> Void = {
            try HelperThread.start("stalls-at-end", $0)
        },
        report: @escaping @Sendable (MonotonicTime) -> Void
    ) {
        (self.start, self.report) = (start, report)
    }

    /// - Parameter time: when the signal came, or before it is sent.
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
