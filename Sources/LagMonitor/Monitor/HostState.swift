internal import CLagBeacon
internal import LagDetection
internal import LagOutput
internal import LagRunLoop
internal import Synchronization

/// Gets the program's own state when a stall is recognised, and keeps the answer until the stall's record is made.
///
/// Used on the reporter's thread, except for the answers: a thread created for them runs the program's hook, one call at a time.
/// A call that hangs keeps that thread. Stalls that wait for their turn longer than the deadline get no fields.
final class HostState: Sendable {
    private enum Answer {
        case awaited(since: UInt64)
        case given([StallRecord.Request.Attribute])
    }

    private struct State {
        var answers: [StallID: Answer] = [:]
        /// Stalls whose hook call is pending, in the order of their beginnings.
        var waiting: [(id: StallID, stall: StallBeginHook.Stall)] = []
        var isRunning = false
    }

    private let hook: StallBeginHook
    private let state = PthreadMutex(State())
    private let answered = WakeSemaphore()

    /// Stalls whose answers are kept. No more stalls than this can be in progress and reported at once.
    private static let capacity = EpisodeQueue.capacity
    private static let textBytes = 64

    init(_ hook: StallBeginHook) { self.hook = hook }

    /// A stall was recognised.
    func ask(about record: StallRecord) {
        let stall = StallBeginHook.Stall(loop: record.loop, threadID: record.threadID, duration: record.duration)
        let isToStart = state.withLock { state in
            guard state.answers.count < Self.capacity else { return false }
            state.answers[record.id] = .awaited(since: clb_now_ns())
            state.waiting.append((record.id, stall))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isToStart else { return }
        do {
            try ObservedRunLoop.performInBackground(name: "lag-begin") { [self] in run() }
        } catch {
            state.withLock { state in
                for (id, _) in state.waiting { state.answers[id] = nil }
                state.waiting = []
                state.isRunning = false
            }
        }
    }

    /// Runs the hook for one stall after the other.
    private func run() {
        while true {
            let next = state.withLock { state in
                state.isRunning = !state.waiting.isEmpty
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            guard let next else { return }
            let fields = Self.fields(of: hook.run(next.stall))
            // A stall whose record is already written, or has waited long enough, does not need the answer.
            state.withLock { if $0.answers[next.id] != nil { $0.answers[next.id] = .given(fields) } }
            answered.post()
        }
    }

    /// The answer, if it arrives within the deadline. Waits for it.
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
    func forget(_ id: StallID) {
        state.withLock { state in
            state.answers[id] = nil
            state.waiting.removeAll { $0.id == id }
        }
    }

    private static func fields(of values: [String: String]) -> [StallRecord.Request.Attribute] {
        values.sorted { $0.key < $1.key }.prefix(StallBeginHook.fieldCapacity).map { name, value in
            .init(
                name: PlainText.sanitized(name.utf8.prefix(textBytes)),
                value: PlainText.sanitized(value.utf8.prefix(textBytes))
            )
        }
    }
}
