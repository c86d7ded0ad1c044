internal import LagModel

/// The most recent threads with a certain property.
///
/// Owned by the watchdog; allocates nothing after its creation.
final class RecentThreads {
    private struct Entry {
        var tid: Int32 = 0
        var untilNanoseconds: UInt64 = 0
    }

    /// The oldest one is replaced, so this is more than a server's number of threads: searching all takes some 0.5 µs, once a
    /// capture.
    private static let capacity = 1024

    private let entries: UnsafeMutablePointer<Entry>
    private let lifetimeNanoseconds: UInt64
    private var next = 0

    /// - Parameter lifetimeNanoseconds: how long an entry counts.
    init(lifetimeNanoseconds: UInt64 = .max) {
        self.lifetimeNanoseconds = lifetimeNanoseconds
        entries = .allocate(capacity: Self.capacity)
        entries.initialize(repeating: Entry(), count: Self.capacity)
    }

    deinit { entries.deallocate() }

    func contains(_ tid: Int32, at now: UInt64) -> Bool { index(of: tid).map { now < entries[$0].untilNanoseconds } ?? false }

    func insert(_ tid: Int32, at now: UInt64) {
        let known = index(of: tid)
        entries[known ?? next] = Entry(tid: tid, untilNanoseconds: now.saturatingSum(lifetimeNanoseconds))
        if known == nil { next = (next + 1) % Self.capacity }
    }

    func remove(_ tid: Int32) {
        if let index = index(of: tid) { entries[index] = Entry() }
    }

    private func index(of tid: Int32) -> Int? {
        var index = 0
        while index < Self.capacity {
            if entries[index].tid == tid { return index }
            index += 1
        }
        return nil
    }
}
