internal import Glibc
package import LagMonitor
internal import Synchronization

/// Executes the plan on the main thread's run loop, one timer per execution, and logs what it did.
package final class Workload: Sendable {
    /// Calls a function on the main thread at a given time. The interface to the run loop.
    package typealias Schedule = @Sendable (_ time: MonotonicTime, _ work: @escaping @Sendable () -> Void) -> Void

    private struct State {
        var plan: WorkloadPlan
        var start = MonotonicTime.now
        var ended = false
        var running: WorkloadKind?
    }

    private let state: Mutex<State>
    private let steps: WorkloadSteps
    private let truth: TruthLog?
    private let schedule: Schedule
    private let chain: CallbackChain

    /// - Parameter submit: makes the main thread's loop call a function as soon as possible.
    package init(
        plan: WorkloadPlan,
        steps: WorkloadSteps,
        truth: TruthLog?,
        schedule: @escaping Schedule,
        submit: @escaping CallbackChain.Submit
    ) {
        state = Mutex(State(plan: plan))
        self.steps = steps
        self.truth = truth
        self.schedule = schedule
        chain = CallbackChain(submit: submit)
    }

    /// The run begins now.
    package func start() {
        let first = state.withLock { state in
            state.start = .now
            return state.plan.next(after: nil).map { (state.start, $0) }
        }
        if let (start, execution) = first { arm(execution, from: start) }
    }

    /// Starts no further execution; the one in progress has `grace` to finish. Not on the main thread.
    ///
    /// An execution that is still in progress then (a hang always is) is logged as ending now.
    package func end(grace: Duration) {
        let deadline = MonotonicTime.now + grace
        while true {
            let running = state.withLock { state in
                state.ended = true
                return state.running
            }
            if running == nil || running == .hang || MonotonicTime.now >= deadline { break }
            usleep(Self.pollMicroseconds)
        }
        truth?.finish()
    }

    /// The execution in progress.
    var running: WorkloadKind? { state.withLock { $0.running } }

    private static let pollMicroseconds: UInt32 = 2000

    private func arm(_ execution: WorkloadPlan.Execution, from start: MonotonicTime) {
        schedule(start + execution.due) { [self] in perform(execution) }
    }

    private func perform(_ execution: WorkloadPlan.Execution) {
        if execution.kind == .starve, begin(.starve) {
            return chain.run(until: .now + execution.length) { [self] in
                truth?.finish()
                scheduleNext(after: .starve)
            }
        }
        do {
            let injection = try steps.prepare(execution.kind, length: execution.length)
            if begin(execution.kind) {
                injection.block()
                truth?.finish()
            }
            injection.cleanUp()
        } catch {
            WorkloadMessage.write("workload step \(execution.kind.rawValue): \(error)")
        }
        scheduleNext(after: execution.kind)
    }

    /// Called when an execution is over: schedules the next one, if any.
    private func scheduleNext(after kind: WorkloadKind) {
        let next = state.withLock { state in
            state.running = nil
            if state.ended { return nil as (MonotonicTime, WorkloadPlan.Execution)? }
            let end = MonotonicTime.now - state.start
            return state.plan.next(after: (end, kind)).map { (state.start, $0) }
        }
        if let (start, execution) = next { arm(execution, from: start) }
    }

    /// Whether the execution may begin. Checked under the same lock as the truth, so that a hang that ``end(grace:)``
    /// finds running has its begin logged.
    private func begin(_ kind: WorkloadKind) -> Bool {
        state.withLock { state in
            if state.ended { return false }
            state.running = kind
            truth?.begin(kind)
            return true
        }
    }
}
