/// The last threads of which something was found out.
///
/// Owned by the watchdog; allocates nothing after its making.
final class RecentThreads {
    /// The oldest one gives way, so more than a server has threads: looking through all takes some 0.3 µs, once a capture.
    private static let capacity = 1024

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

    func remove(_ tid: Int32) {
        var index = 0
        while index < Self.capacity {
            if threads[index] == tid { threads[index] = 0 }
            index += 1
        }
    }
}
