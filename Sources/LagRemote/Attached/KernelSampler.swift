internal import CLagBeacon
internal import LagDetection
internal import Synchronization

/// Writes the beacons of the loops of a process that was not prepared, by what the kernel says of their threads at each sample.
final class KernelSampler: ExternalSampler {
    private let loops = Mutex<[AttachedLoop]>([])

    /// So often a loop at work is sampled: so much is not known of when a stall began and ended.
    static let workingSampleNanoseconds: UInt64 = 10_000_000
    /// And loops at rest.
    private static let restNanoseconds: UInt64 = 20_000_000

    /// Any thread.
    func add(_ loop: AttachedLoop) { loops.withLock { $0.append(loop) } }

    /// Any thread.
    func remove(_ loop: AttachedLoop) { loops.withLock { $0.removeAll { $0 === loop } } }

    // The lock is held by others for as long as it takes to change an array.
    func sample(at now: UInt64) -> Bool {
        loops.withLock { for loop in $0 { _ = loop.sample(at: now) } }
        return true
    }

    func prepareNextSample() -> UInt64 {
        let now = clb_now_ns()
        return loops.withLock { loops in
            var due: UInt64 = loops.isEmpty ? .max : now + Self.restNanoseconds
            for loop in loops where loop.isAtWork {
                loop.probeIterations(at: now)
                due = now + Self.workingSampleNanoseconds
            }
            return due
        }
    }
}
