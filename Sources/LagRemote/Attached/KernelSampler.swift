internal import CLagBeacon
internal import LagDetection
internal import LagModel
internal import Synchronization

/// Writes the beacons of the loops of an unprepared process, from the kernel's data on their threads at each sample.
final class KernelSampler: ExternalSampler {
    private struct State {
        var loops: [AttachedLoop] = []
        var pace = SamplingPace()
        /// When the beacons are scanned although no loop has moved: for what an earlier scan could not find out.
        var scans = RestPace(shortestNanoseconds: 0)
    }

    private let state = Mutex(State())

    /// The sampling interval of a working loop: the uncertainty of a stall's begin and end.
    static let workingSampleNanoseconds: UInt64 = 10_000_000

    /// What is added for resting loops where nothing is lost by it: for seldom woken loops the kernel records each switch, and a
    /// stall is still sampled in its first half (with thresholds below 50 ms: as soon as for any other loop). At most as long as
    /// the kernel's records certainly suffice for (``WakeRateMeter``).
    private let calmNanoseconds: UInt64
    private static let longestCalmNanoseconds: UInt64 = 75_000_000

    /// - Parameter threshold: the duration from which a stretch of work is a stall.
    init(threshold: UInt64) {
        calmNanoseconds = min((threshold / 2).saturatingDifference(SamplingPace.longestNanoseconds), Self.longestCalmNanoseconds)
    }

    /// Any thread.
    func add(_ loop: AttachedLoop) { state.withLock { $0.loops.append(loop) } }

    /// Any thread.
    func remove(_ loop: AttachedLoop) { state.withLock { $0.loops.removeAll { $0 === loop } } }

    // Other threads hold the lock only while they change an array.
    func sample(at now: UInt64) -> Bool {
        state.withLock { state in
            var isUnmoved = true
            for loop in state.loops where loop.sample(at: now) { isUnmoved = false }
            guard state.scans.isDue(at: now, isUnmoved: isUnmoved) else { return false }
            state.scans.recordDone(at: now)
            return true
        }
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
