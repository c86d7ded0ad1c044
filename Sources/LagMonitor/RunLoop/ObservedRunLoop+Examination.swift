package import LagActivity

/// What is pending at a loop of this process, for the record of its stall. The loop publishes what it does itself, so the quiet
/// rule never applies.
extension ObservedRunLoop: ExaminableLoop {
    package func recordRest(at now: UInt64) {}

    package func examine(at now: UInt64) -> LoopExamination { LoopExamination(work: signals.pendingWork) }
}
