internal import CLagBeacon
internal import LagDetection
internal import LagModel
internal import Synchronization

/// Writes the beacons of the loops of a process that was not prepared, by what the kernel says of their threads at each sample.
final class KernelSampler: ExternalSampler {
    private struct State {
        var loops: [AttachedLoop] = []
        var pace = SamplingPace()
    }

    private let state = Mutex(State())

    /// So often a loop at work is sampled: so much is not known of when a stall began and ended.
    static let workingSampleNanoseconds: UInt64 = 10_000_000

    /// So much longer where nothing at rest is lost by that: of loops that are woken seldom the kernel records each switch, and a stall is
    /// still seen at work in its first half (of thresholds below 50 ms: as soon as of any other loop).
    private let calmNanoseconds: UInt64
    private static let longestCalmNanoseconds: UInt64 = 30_000_000

    /// - Parameter threshold: how long a stretch of work lasts that is a stall.
    init(threshold: UInt64) {
        calmNanoseconds = min((threshold / 2).saturatingDifference(SamplingPace.longestNanoseconds), Self.longestCalmNanoseconds)
    }

    /// Any thread.
    func add(_ loop: AttachedLoop) { state.withLock { $0.loops.append(loop) } }

    /// Any thread.
    func remove(_ loop: AttachedLoop) { state.withLock { $0.loops.removeAll { $0 === loop } } }

    // The lock is held by others for as long as it takes to change an array.
    func sample(at now: UInt64) -> Bool {
        state.withLock { for loop in $0.loops { _ = loop.sample(at: now) } }
        return true
    }

    func prepareNextSample() -> UInt64 {
        let now = clb_now_ns()
        return state.withLock { state in
            guard !state.loops.isEmpty else { return .max }
            let isCalm = state.loops.allSatisfy(\.isCalmlyResting)
            var due = now + state.pace.next() + (isCalm ? calmNanoseconds : 0)
            for loop in state.loops where loop.isAtWork {
                loop.probeIterations(at: now)
                due = now + Self.workingSampleNanoseconds
            }
            return due
        }
    }
}
