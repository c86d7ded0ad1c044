internal import Foundation
internal import LagMonitor
internal import Synchronization

/// The service's own knowledge: which request blocked which thread, and when.
final class Truth: Sendable {
    struct Block: Sendable {
        let request: Int
        let thread: Int32
        let begun: UInt64
        var ended: UInt64 = 0
    }

    private let blocks = Mutex<[Block]>([])

    var count: Int { blocks.withLock { $0.count } }
    var all: [Block] { blocks.withLock { $0 } }

    /// Blocks the calling thread in one of six ways, and records that.
    func block(_ request: Int) {
        let index = blocks.withLock { blocks in
            blocks.append(Block(request: request, thread: ThreadIdentity.current.tid, begun: MonotonicTime.now.nanoseconds))
            return blocks.count - 1
        }
        Blocking.run(index)
        blocks.withLock { $0[index].ended = MonotonicTime.now.nanoseconds }
    }
}

/// Six ways to block a thread.
enum Blocking {
    private static let milliseconds: UInt32 = 300

    static func run(_ way: Int) {
        switch way % 6 {
        case 0: usleep(milliseconds * 1000)
        case 1: compute()
        case 2: waitForLock()
        case 3: waitForSemaphore()
        case 4: readNothing()
        default: pollNothing()
        }
    }

    @inline(never) private static func compute() {
        let end = MonotonicTime.now.nanoseconds + UInt64(milliseconds) * 1_000_000
        var number: UInt64 = 1
        while MonotonicTime.now.nanoseconds < end { number = number &* 6_364_136_223_846_793_005 &+ 1 }
        if number == 0 { usleep(1) }
    }

    private static func onThread(_ body: @escaping @Sendable () -> Void) {
        try? ObservedRunLoop.performInBackground(name: "holder", body)
    }

    private static func waitForLock() {
        let holder = LockHolder()
        onThread { holder.hold(milliseconds) }
        while !holder.isHeld { usleep(100) }
        holder.take()
    }

    private static func waitForSemaphore() {
        let semaphore = WakeSignal()
        onThread {
            usleep(milliseconds * 1000)
            semaphore.signal()
        }
        semaphore.wait()
    }

    private static func readNothing() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        let writer = ends[1]
        onThread {
            usleep(milliseconds * 1000)
            close(writer)
        }
        var byte: UInt8 = 0
        _ = read(ends[0], &byte, 1)
        close(ends[0])
    }

    private static func pollNothing() { _ = poll(nil, 0, Int32(milliseconds)) }
}

/// A lock that another thread holds.
private final class LockHolder: Sendable {
    private let lock = NSLock()
    private let held = Atomic<Bool>(false)

    func take() { lock.withLock {} }

    var isHeld: Bool { held.load(ordering: .acquiring) }

    func hold(_ milliseconds: UInt32) {
        lock.withLock {
            held.store(true, ordering: .releasing)
            usleep(milliseconds * 1000)
        }
    }
}

/// A POSIX semaphore.
// Unchecked: any thread may use `sem_t`, and it lives as long as this object.
private final class WakeSignal: @unchecked Sendable {
    private let raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(raw, 0, 0) }
    deinit { raw.deallocate() }

    func signal() { sem_post(raw) }
    func wait() { while sem_wait(raw) != 0 {} }
}
