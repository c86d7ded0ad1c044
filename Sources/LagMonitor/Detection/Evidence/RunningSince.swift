/// Since when what a sample found is known to have run (`CLOCK_MONOTONIC`, nanoseconds; 0: it was found at that sample, and nothing is known of before).
package struct RunningSince: Sendable, Equatable {
    package var context: UInt64 = 0
    package var task: UInt64 = 0
    /// Whether it runs on until it is through: a synchronous call, or a job of a pool's thread. A task that a loop runs may give it to others at any time.
    package var runsOn = false

    package init() {}

    package init(context: UInt64, task: UInt64, runsOn: Bool) {
        self.context = context
        self.task = task
        self.runsOn = runsOn
    }

    func ran(_ since: UInt64, until now: UInt64) -> UInt64 { since > 0 ? now.saturatingDifference(since) : 0 }
}
