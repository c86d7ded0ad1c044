import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import Synchronization

/// What the program adds when a stall is detected: in the record if it comes in time, and nothing else is lost if it does not.
enum Beginning {
    static func check() {
        runInTask {
            let hanging = Hanging()
            let sink = CollectedStalls()
            var configuration = StallMonitorConfiguration()
            configuration.onStallBegin = StallBeginHook { stall in
                while hanging.isHanging { usleep(1000) }
                return ["loop": stall.loop, "answer": "42\n", "long": String(repeating: "x", count: 1000)]
            }
            let monitor = StallMonitor(configuration: configuration)
            monitor.onStall(queue: .global()) { sink.add($0) }
            try monitor.watchConcurrencyPool([.medium])
            try monitor.start()
            let first = try await stall(sink, monitor)
            let fields = Dictionary(uniqueKeysWithValues: first.state.map { ($0.name, $0.value) })
            guard fields["loop"] == "pool.medium", fields["answer"] == "42\u{fffd}", fields["long"]?.utf8.count == 64 else {
                FoundationProbe.fail("fields: \(first.state)")
            }
            hanging.set(true)
            guard try await stall(sink, monitor).state.isEmpty, try await stall(sink, monitor).state.isEmpty else {
                FoundationProbe.fail("fields of one that hangs")
            }
            hanging.set(false)
            try await Task.sleep(for: .milliseconds(100))
            guard try await !stall(sink, monitor).state.isEmpty else { FoundationProbe.fail("no fields after it") }
            monitor.stop()
        }
    }

    private final class Hanging: Sendable {
        private let value = Atomic<Bool>(false)
        var isHanging: Bool { value.load(ordering: .acquiring) }
        func set(_ isHanging: Bool) { value.store(isHanging, ordering: .releasing) }
    }

    private static func stall(_ sink: CollectedStalls, _ monitor: StallMonitor) async throws -> StallRecord {
        let record = try await sink.record(of: { await Task.detached(priority: .medium) { blockHere() }.value }, by: monitor)
        guard let record else { FoundationProbe.fail("no stall") }
        return record
    }
}
