#if NIO
    import Glibc
    import LagMonitor
    import StallFixtures

    // What the tests let an event loop do. The tests search the records for these names.

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

    extension StallRecord {
        func names(_ function: String) -> Bool { frames.contains { $0.symbol?.contains(function) ?? false } }
    }
#endif
