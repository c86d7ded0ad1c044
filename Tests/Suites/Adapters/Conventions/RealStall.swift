import Glibc
import LagMonitor

/// A monitor and its own thread, which stalls once, for 300 ms or longer if the test requires it.
struct RealStall {
    let monitor: StallMonitor
    let thread: KeepAliveThread

    init(while isWanted: @escaping @Sendable () -> Bool = { false }, prepare: (StallMonitor) -> Void) throws {
        monitor = StallMonitor()
        thread = try KeepAliveThread(name: "real")
        prepare(monitor)
        try monitor.start()
        try monitor.watch(thread.loop)
        thread.perform { repeat { sleepForTheTest(milliseconds: 300) } while isWanted() }
    }

    func end() {
        monitor.stop()
        thread.stop()
        thread.join()
    }
}

@inline(never) @_optimize(none) func sleepForTheTest(milliseconds: UInt32) { usleep(milliseconds * 1000) }
