/// Threads that were seen on another stack than their own, as those that run fibers: which stack they are on at some moment, no call says.
///
/// Owned by the watchdog; allocates nothing after its making.
final class StrayedThreads {
    /// The oldest one gives way.
    private static let capacity = 32

    private let threads: UnsafeMutablePointer<Int32>
    private var next = 0

    init() {
        threads = .allocate(capacity: Self.capacity)
        threads.initialize(repeating: 0, count: Self.capacity)
    }

    deinit { threads.deallocate() }

    func contains(_ tid: Int32) -> Bool {
        var index = 0
        while index < Self.capacity {
            if threads[index] == tid { return true }
            index += 1
        }
        return false
    }

    func insert(_ tid: Int32) {
        guard !contains(tid) else { return }
        threads[next] = tid
        next = (next + 1) % Self.capacity
    }
}
