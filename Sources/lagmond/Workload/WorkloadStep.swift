/// One entry of `workload.steps`: what to do, for how long, how often, from when on.
package struct WorkloadStep: Sendable, Equatable {
    package var kind: WorkloadKind
    /// How long one execution takes. A `hang` ignores it; a `short` fills it with many callbacks.
    package var forMilliseconds: Int
    /// The distance from one execution's due time to the next one's; nil: the next is due when the last is over.
    package var everyMilliseconds: Int?
    /// How many executions; nil: one, or with `every_ms` as many as fit in the run.
    package var count: Int?
    /// When the first execution is due, from the start of the run.
    package var startMilliseconds: Int

    /// Twice the default threshold, so that a step with defaults is reported.
    package static let defaultForMilliseconds = 300

    package init(
        kind: WorkloadKind,
        forMilliseconds: Int = defaultForMilliseconds,
        everyMilliseconds: Int? = nil,
        count: Int? = nil,
        startMilliseconds: Int = 0
    ) {
        self.kind = kind
        self.forMilliseconds = forMilliseconds
        self.everyMilliseconds = everyMilliseconds
        self.count = count
        self.startMilliseconds = startMilliseconds
    }
}
