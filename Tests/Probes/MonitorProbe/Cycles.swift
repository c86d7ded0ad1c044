import Glibc
import LagMonitor
import TestSupport

/// Repeated starts and stops leak no memory, thread or descriptor.
enum Cycles {
    static func check() throws {
        let thread = try KeepAliveThread(name: "worker")
        let monitor = Probe.quickMonitor(sinks: [MemorySink()])
        for _ in 0..<20 { try cycle(monitor, thread) }
        usleep(50_000)
        let (early, threads) = (residentBytes(), Probe.entries(of: "/proc/self/task"))
        let descriptors = Probe.entries(of: "/proc/self/fd")
        for _ in 0..<200 { try cycle(monitor, thread) }
        let grown = residentBytes() - early
        // One cycle uses more than a megabyte: a leak of a tenth of it would be visible twentyfold.
        if grown > 8 << 20 { Probe.fail("200 cycles took \(grown) bytes") }
        if !eventually(seconds: 5, { Probe.entries(of: "/proc/self/task") == threads }) { Probe.fail("threads were left") }
        if Probe.entries(of: "/proc/self/fd") != descriptors { Probe.fail("descriptors were left") }
    }

    private static func cycle(_ monitor: StallMonitor, _ thread: KeepAliveThread) throws {
        try monitor.start()
        try monitor.watch(thread.loop)
        monitor.stop()
    }

    private static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { Probe.fail("cannot read statm") }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 128)
        guard fgets(&buffer, 128, file) != nil else { Probe.fail("statm is empty") }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (Int(text.split(separator: " ")[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
