internal import Dispatch
internal import Synchronization

/// Runs trials, as many at the same time as requested; scenarios that must run alone come last, one by one.
struct TrialRunner {
    let trials: [Trial]
    let size: Int

    /// - Parameter each: called with each verdict, one call at a time.
    func execute(each: @escaping @Sendable (Verdict) -> Void) -> [Verdict] {
        let verdicts = Mutex<[(Int, Verdict)]>([])
        let numbered = Array(trials.enumerated())
        let waiting = Mutex(numbered.filter { !$0.element.scenario.runsAlone }[...])
        @Sendable func run(_ number: Int, _ trial: Trial) {
            let verdict = trial.execute()
            verdicts.withLock {
                $0.append((number, verdict))
                each(verdict)
            }
        }
        DispatchQueue.concurrentPerform(iterations: size) { _ in
            while let (number, trial) = waiting.withLock({ $0.popFirst() }) { run(number, trial) }
        }
        for (number, trial) in numbered where trial.scenario.runsAlone { run(number, trial) }
        return verdicts.withLock { $0.sorted { $0.0 < $1.0 }.map(\.1) }
    }
}
