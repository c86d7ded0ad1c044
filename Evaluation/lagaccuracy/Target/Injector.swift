internal import Dispatch
internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// Executes a plan on a loop: one stall after another, each in its place, with a gap before it.
final class Injector: Sendable {
    private let loop: ObservedRunLoop
    private let plan: InjectionPlan
    private let steps: WorkloadSteps
    private let oracle: Oracle
    private let chain: CallbackChain
    private let pacer = DispatchQueue(label: "pacer")
    private let next = Mutex(0)
    private let end: @Sendable () -> Void

    /// - Parameter end: called on the loop after the last stall.
    init(
        loop: ObservedRunLoop,
        plan: InjectionPlan,
        oracle: Oracle,
        end: @escaping @Sendable () -> Void
    ) throws {
        self.loop = loop
        self.plan = plan
        self.oracle = oracle
        self.end = end
        steps = try WorkloadSteps(for: [WorkloadStep(kind: .network)])
        chain = CallbackChain { work in loop.perform { oracle.callback(work) } }
    }

    /// Schedules the next stall after its gap.
    func arm() {
        let index = next.withLock { next in
            defer { next += 1 }
            return next
        }
        guard index < plan.stalls.count else { return end() }
        let stall = plan.stalls[index]
        let gap = Duration.microseconds(Int64(stall.gapMilliseconds * 1000))
        if stall.place == .timer {
            loop.add(RunLoopTimer(after: gap) { [self] _ in inject(stall) }, to: .common)
        } else {
            pacer.asyncAfter(deadline: .now() + .microseconds(Int(stall.gapMilliseconds * 1000))) { [self] in submit(stall) }
        }
    }

    /// Schedules a stall in its place. Called on the pacer's thread.
    private func submit(_ stall: PlannedStall) {
        switch stall.place {
        case .timer, .perform: loop.perform { [self] in inject(stall) }
        case .mainQueue: DispatchQueue.main.async { [self] in inject(stall) }
        case .source:
            // One source for each stall, which is removed from the loop after its stall.
            let holder = SourceHolder()
            let source = RunLoopSource { [self] in
                inject(stall)
                holder.take()?.invalidate()
            }
            holder.put(source)
            loop.add(source, to: .common)
            source.signalAndWake()
        case .beforeWaiting:
            loop.add(
                RunLoopObserver(activities: .beforeWaiting, repeats: false, order: 1000) { [self] _, _ in inject(stall) },
                to: .common
            )
            loop.wakeUp()
        }
    }

    /// The callout that stalls. It reads the clock first and last.
    private func inject(_ stall: PlannedStall) {
        oracle.begin(stall)
        let length = Duration.microseconds(Int64(stall.lengthMilliseconds * 1000))
        if stall.kind == .starve {
            return chain.run(until: .now + length) { [self] in
                arm()
                oracle.end()
            }
        }
        do {
            let injection = try steps.prepare(stall.kind, length: length, releasing: true)
            injection.block()
            injection.cleanUp()
        } catch {
            WorkloadMessage.write("\(stall.kind.rawValue): \(error)")
        }
        // The gap is long enough that the next stall does not start before this reading.
        arm()
        oracle.end()
    }
}

/// Keeps a source until its closure, which needs it, has run.
private final class SourceHolder: Sendable {
    private let source = Mutex<RunLoopSource?>(nil)

    func put(_ new: RunLoopSource) { source.withLock { $0 = new } }

    func take() -> RunLoopSource? {
        source.withLock { source in
            defer { source = nil }
            return source
        }
    }
}
