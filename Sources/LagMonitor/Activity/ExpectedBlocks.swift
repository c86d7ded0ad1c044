internal import CLagLinux
internal import Synchronization

/// Threads in which blocking is expected, other than those of run loops, whose beacons publish it themselves.
///
/// A fixed table that the threads themselves write and the watchdog reads: no lock, no allocation after its first use.
package enum ExpectedBlocks {
    private static let capacity = 1024
    /// A thread uses one of these places; if all are taken, its block is watched like any other.
    private static let places = 16

    /// The thread's id, and in the upper half in how many such scopes it is.
    // Unchecked: immutable, never freed, and every access to what it points to is atomic.
    nonisolated(unsafe) private static let threads: UnsafeMutablePointer<Atomic<UInt64>> = {
        let threads = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: capacity)
        for index in 0..<capacity { (threads + index).initialize(to: Atomic(0)) }
        return threads
    }()

    private static func place(_ number: Int, of tid: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
        threads + (Int(tid) &* places &+ number) % capacity
    }

    private static let oneScope: UInt64 = 1 << 32

    /// Runs `body`, which is expected to block. Some 0.2 µs.
    package static func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let place = enter(UInt64(UInt32(bitPattern: cll_gettid())))
        // No other thread changes a place that is taken.
        defer { if let place { leave(place) } }
        return try body()
    }

    private static func enter(_ tid: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>>? {
        for number in 0..<places {
            let place = place(number, of: tid)
            let present = place.pointee.load(ordering: .relaxed)
            guard present & (oneScope - 1) == tid else { continue }
            place.pointee.store(present + oneScope, ordering: .releasing)
            return place
        }
        for number in 0..<places {
            let place = place(number, of: tid)
            if place.pointee.compareExchange(expected: 0, desired: oneScope | tid, ordering: .acquiringAndReleasing).exchanged {
                return place
            }
        }
        return nil
    }

    private static func leave(_ place: UnsafeMutablePointer<Atomic<UInt64>>) {
        let left = place.pointee.load(ordering: .relaxed) - oneScope
        place.pointee.store(left < oneScope ? 0 : left, ordering: .releasing)
    }

    /// Whether a thread is in such a scope. The watchdog's thread.
    package static func contains(_ tid: Int32) -> Bool {
        let tid = UInt64(UInt32(bitPattern: tid))
        var number = 0
        while number < places {
            if place(number, of: tid).pointee.load(ordering: .acquiring) & (oneScope - 1) == tid { return true }
            number += 1
        }
        return false
    }
}
