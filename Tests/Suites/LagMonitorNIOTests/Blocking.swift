#if NIO
    import Glibc
    import LagMonitor
    import StallFixtures
    import Synchronization

    // What the tests let an event loop do. The names are looked for in the records.

    @inline(never) func blockInChannelRead(milliseconds: Int) {
        usleep(UInt32(milliseconds) * 1000)
    }

    @inline(never) func blockInATask(milliseconds: Int) {
        usleep(UInt32(milliseconds) * 1000)
    }

    /// Waits in an epoll instance that is not the loop's.
    @inline(never) func blockInAnotherEpoll(milliseconds: Int) {
        fixture_epoll_wait(Int32(milliseconds))
    }

    /// Waits until something is the case; false when it does not come to be.
    func eventually(seconds: Int = 30, _ condition: () -> Bool) -> Bool {
        let deadline = MonotonicTime.now + .seconds(seconds)
        while !condition() {
            if MonotonicTime.now > deadline { return false }
            usleep(2000)
        }
        return true
    }

    /// Records that a handler was given.
    final class Collected: Sendable {
        private let content = Mutex<[StallRecord]>([])

        func add(_ record: StallRecord) { content.withLock { $0.append(record) } }
        var records: [StallRecord] { content.withLock { $0 } }
    }

    extension StallRecord {
        func names(_ function: String) -> Bool { frames.contains { $0.symbol?.contains(function) ?? false } }
    }
#endif
