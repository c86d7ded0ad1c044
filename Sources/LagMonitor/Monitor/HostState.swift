internal import CLagBeacon
internal import LagDetection
internal import LagOutput
internal import LagRunLoop
internal import Synchronization

/// Asks the program for its own state when a stall is recognised, and keeps the answer until the stall's record is made.
///
/// The reporter's thread, but for the answer, which comes from a thread that is made for it. One that hangs in the program's code keeps that thread,
/// and further stalls have no fields until it comes back.
final class HostState: Sendable {
    private enum Answer {
        case awaited(since: UInt64)
        case given([StallRecord.Request.Attribute])
    }

    private struct State {
        var answers: [StallID: Answer] = [:]
        var isRunning = false
    }

    private let hook: StallBeginHook
    private let state = PthreadMutex(State())
    private let answered = WakeSemaphore()

    /// Stalls whose answers are kept: more than can be in progress at once are not reported either.
    private static let capacity = EpisodeQueue.capacity
    private static let textBytes = 64

    init(_ hook: StallBeginHook) { self.hook = hook }

    /// A stall was recognised.
    func ask(about record: StallRecord) {
        let isFree = state.withLock { state in
            guard !state.isRunning, state.answers.count < Self.capacity else { return false }
            state.isRunning = true
            state.answers[record.id] = .awaited(since: clb_now_ns())
            return true
        }
        guard isFree else { return }
        let stall = StallBeginHook.Stall(loop: record.loop, threadID: record.threadID, duration: record.duration)
        let id = record.id
        do {
            try ObservedRunLoop.performInBackground(name: "lag-begin") { [self] in
                let fields = Self.fields(of: hook.run(stall))
                state.withLock { state in
                    state.isRunning = false
                    // Whose record is out, or waited long enough, has no use for it.
                    if state.answers[id] != nil { state.answers[id] = .given(fields) }
                }
                answered.post()
            }
        } catch {
            forget(id)
            state.withLock { $0.isRunning = false }
        }
    }

    /// The answer, if it is there within the deadline. Waits for it.
    func fields(of id: StallID) -> [StallRecord.Request.Attribute] {
        while true {
            switch state.withLock({ $0.answers[id] }) {
            case .given(let fields): return fields
            case nil: return []
            case .awaited(let since):
                let deadline = since.saturatingSum(UInt64(hook.deadline.wholeNanoseconds))
                guard answered.wait(until: deadline) else {
                    forget(id)
                    return []
                }
                answered.drain()
            }
        }
    }

    /// The stall's last record was made.
    func forget(_ id: StallID) { state.withLock { _ = $0.answers.removeValue(forKey: id) } }

    private static func fields(of values: [String: String]) -> [StallRecord.Request.Attribute] {
        values.sorted { $0.key < $1.key }.prefix(StallBeginHook.fieldCapacity).map { name, value in
            .init(
                name: PlainText.sanitized(name.utf8.prefix(textBytes)),
                value: PlainText.sanitized(value.utf8.prefix(textBytes))
            )
        }
    }
}
