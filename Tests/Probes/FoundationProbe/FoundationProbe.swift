import Dispatch
import Foundation
import LagMonitor
import LagMonitorFoundation
import TestSupport

/// Programs that run the main queue, each in a separate process. `dispatch-main`: Dispatch's threads; `run-loop`: Foundation's
/// loop; without an argument, that loop itself is watched: it stalls in everything that it runs. Others: ``ContextChecks``. Exit
/// 0 and `fine`, or 1.
@main enum FoundationProbe {
    static func main() throws {
        switch CommandLine.arguments.dropFirst().first {
        case "dispatch-main":
            try MainStalls.check(on: .worker)
            dispatchMain()
        case "run-loop":
            try MainStalls.check(on: .main)
            RunLoop.main.run()
        case nil: try watchMainLoop()
        case let check?: ContextChecks.run(check, only: CommandLine.arguments.dropFirst(2).first)
        }
    }

    private static func watchMainLoop() throws {
        let sink = MemorySink()
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        let monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        try monitor.watch(FoundationLoop(RunLoop.main))
        Thread.detachNewThread { check(sink) }
        RunLoop.main.run()
    }

    @inline(never) nonisolated static func blockInTheMainQueue() { usleep(300_000) }
    @inline(never) @MainActor static func blockInTheMainActor() { usleep(300_000) }
    @inline(never) nonisolated static func blockInATimer() { usleep(300_000) }

    @MainActor static func stallAfterSuspending() async {
        await Task.yield()
        try? await Task.sleep(for: .milliseconds(50))
        blockInTheMainActor()
    }

    private static func check(_ sink: MemorySink) {
        usleep(100_000)
        DispatchQueue.main.async { blockInTheMainQueue() }
        expect(1, "blockInTheMainQueue", sink)
        Task { @MainActor in await stallAfterSuspending() }
        expect(2, "blockInTheMainActor", sink)
        DispatchQueue.main.async {
            let timer = Timer(timeInterval: 0.05, repeats: false) { _ in blockInATimer() }
            RunLoop.main.add(timer, forMode: .common)
        }
        expect(3, "blockInATimer", sink)
        // Quiet: main queue, main actor and no long work.
        for _ in 0..<2000 {
            DispatchQueue.main.async {}
            Task { @MainActor in }
            usleep(200)
        }
        if stalls(sink).count != 3 { fail("\(stalls(sink).count) records instead of 3: \(sink.lines)") }
        print("fine")
        exit(0)
    }

    private static func stalls(_ sink: MemorySink) -> [[String: Any]] {
        withoutRunqueue(sink.lines).compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }.filter
        {
            $0["event"] as? String == "stall"
        }
    }

    private static func expect(_ count: Int, _ function: String, _ sink: MemorySink) {
        for _ in 0..<5000 where stalls(sink).count < count { usleep(2000) }
        let records = stalls(sink)
        guard records.count == count, let record = records.last else { fail("no record of \(function)") }
        let symbols = (record["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
        if record["loop"] as? String != "main" { fail("loop: \(record)") }
        if (record["thread_id"] as? NSNumber)?.int32Value != getpid() { fail("thread: \(record)") }
        if !symbols.contains(where: { $0.contains(function) }) { fail("\(function) is not in \(symbols)") }
        if !(record["culprit"] as? String ?? "").contains(function) { fail("culprit: \(record)") }
    }

    static func fail(_ message: String) -> Never {
        print(message)
        fflush(nil)
        exit(1)
    }
}
