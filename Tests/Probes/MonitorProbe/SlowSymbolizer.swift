import Glibc
import LagMonitor
import LagSymbols
import TestSupport

/// A stop while the symbolizer is still reading: the records are written without lines, and the symbolizer has exited.
enum SlowSymbolizer {
    static func check() throws {
        var template = Array("/tmp/lag-probe-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { Probe.fail("mkdtemp") }
        let folder = String(cString: made)
        let (program, started) = ("\(folder)/llvm-symbolizer", "\(folder)/started")
        defer {
            unlink(program)
            unlink(started)
            rmdir(folder)
        }
        guard let script = fopen(program, "w") else { Probe.fail("cannot write \(program)") }
        fputs("#!/bin/sh\necho $$ > \(started)\nexec sleep 1000\n", script)
        fclose(script)
        chmod(program, 0o755)
        setenv("PATH", folder, 1)

        let threads = try (1...4).map { try KeepAliveThread(name: "worker-\($0)") }
        for thread in threads { _ = try thread.performAndWait { usleep(1000) } }
        let before = Leftovers.Inventory(threads[0].loop)
        let sink = MemorySink()
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        LineSymbols.enable()
        configuration.symbols = .lines
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        for thread in threads { try monitor.watch(thread.loop) }
        // So long that a watchdog without a processor still finds their stacks.
        for thread in threads { thread.perform { usleep(1_000_000) } }
        // The reporter waits for the first answer then.
        if !eventually({ access(started, F_OK) == 0 }) { Probe.fail("no symbolizer was started") }
        if !eventually({ monitor.statistics.stalls == 4 }) { Probe.fail("stalls: \(monitor.statistics)") }
        monitor.stop()
        let statistics = monitor.statistics
        let records = sink.lines.filter { $0.contains("\"event\":\"stall\"") }
        if records.count != 4 || statistics.reported != 4 || statistics.dropped != 0 {
            Probe.fail("\(records.count) records of 4 stalls: \(statistics)")
        }
        if records.contains(where: { $0.contains("\"file\":") }) { Probe.fail("lines from nowhere") }
        if waitpid(-1, nil, WNOHANG) != -1 || errno != ECHILD { Probe.fail("a child is left") }
        var after = Leftovers.Inventory(threads[0].loop)
        _ = eventually(seconds: 5) {
            after = Leftovers.Inventory(threads[0].loop)
            return after == before
        }
        if after != before { Probe.fail("before \(before)\nafter \(after)") }
    }
}
