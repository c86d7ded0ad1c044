internal import LagWorkload

/// One stall to inject.
struct PlannedStall: Sendable, Equatable {
    let kind: WorkloadKind
    let place: Place
    let lengthMilliseconds: Double
    /// How long the loop is idle before it.
    let gapMilliseconds: Double
}
