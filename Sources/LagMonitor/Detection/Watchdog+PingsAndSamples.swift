internal import LagActivity
internal import LagCapture
internal import Synchronization

/// What some rules need besides the beacon: answers of the loop, and looks at its stack.
extension Watchdog {
    /// Gives a ping to a loop, or has it given.
    func ping(_ index: Int) {
        let cold = registry.coldParts + index
        guard let loop = cold.pointee.pingable else { return }
        guard loop.pingsWithoutLocking else { return relay.requestPing(index) }
        cold.pointee.pinged.store(clock(), ordering: .releasing)
        loop.ping()
    }

    /// What is on top of a loop's stack, if a rule wants to know now. Nil when it does not, or when the loop moved on meanwhile.
    func sample(_ index: Int, _ reading: BeaconReading, at now: UInt64) -> SampleKey? {
        let cold = registry.coldParts + index
        guard let sampling = cold.pointee.detector.sampling, sampling.wantsSample(reading, at: now) else { return nil }
        let target = cold.pointee.target
        guard target.tid != 0 else { return nil }
        let earlier = cold.pointee.earlier
        cold.pointee.earlier = earlier ?? ThreadState(tid: target.tid, process: target.process)
        let outcome = capture.capture(target, earlier: earlier, into: scratch, budget: .brief)
        let present = BeaconReading(registry.hotParts[index].beacon)
        // It may have come to another callout, which is the point of this rule, but not to a rest.
        guard outcome.method != .none, present.isWorking, present.wokeNanoseconds == reading.wokeNanoseconds else { return nil }
        let functions = min(sampling.rule.functions, outcome.stored)
        func function(_ position: Int) -> UInt64 { position < functions ? capture.function(of: scratch[position]) : 0 }
        return SampleKey(function(0), function(1), function(2), function(3))
    }
}
