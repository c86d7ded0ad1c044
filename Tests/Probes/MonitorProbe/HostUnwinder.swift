import Glibc
import LagMonitor
import TestSupport

/// The host's exceptions and `backtrace` still use libgcc and glibc while the monitor runs.
enum HostUnwinder {
    private static let symbols = [
        ("_Unwind_RaiseException", "libgcc_s"), ("_Unwind_Backtrace", "libgcc_s"), ("_Unwind_Resume", "libgcc_s"),
        ("backtrace", "libc.so"),
    ]

    static func check() throws {
        let before = symbols.map { library(of: $0.0) }
        let thread = try KeepAliveThread(name: "worker")
        let sink = MemorySink()
        let monitor = Probe.quickMonitor(sinks: [sink])
        try monitor.start()
        try monitor.watch(thread.loop)
        _ = try thread.performAndWait { usleep(250_000) }
        if !eventually({ sink.lines.count == 1 }) { Probe.fail("no record") }
        for ((symbol, wanted), old) in zip(symbols, before) {
            let now = library(of: symbol)
            if now != old || !now.contains(wanted) { Probe.fail("\(symbol): before in \(old), now in \(now), wanted \(wanted)") }
        }
        monitor.stop()
    }

    private static func library(of symbol: String) -> String {
        // A null handle is RTLD_DEFAULT: what a call from the host would find.
        guard let found = dlsym(nil, symbol) else { return "nowhere" }
        let address = UInt(bitPattern: found)
        // Swift's Glibc has no dladdr; the map of the process has the same information.
        guard let file = fopen("/proc/self/maps", "r") else { Probe.fail("cannot read maps") }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 8192)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            let line = String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            if bounds[0] <= address, address < bounds[1] { return fields.count > 5 ? String(fields[5]) : "unnamed" }
        }
        return "unknown"
    }
}
