import Foundation
import LagMonitor
import LagMonitorConcurrency

/// A request that blocks the main actor, and others that only waited for it and run for a moment afterwards: all of it is one
/// stall, and none of the others is named.
@MainActor enum Turns {
    nonisolated static func check() {
        runInTask {
            let sink = CollectedStalls()
            let monitor = sink.recordingMonitor()
            try monitor.start()
            try monitor.watch(PingedQueue(.main), rules: .heartbeat)
            for round in 0..<4 {
                try await Task.sleep(for: .milliseconds(300))
                let victims = (0..<4).map { number in
                    Task.detached(name: "victim\(number)") {
                        await withStallContext(name: "GET /victim/\(number)") {
                            try? await Task.sleep(for: .milliseconds(60))
                            await spin(15)
                        }
                    }
                }
                try await Task.sleep(for: .milliseconds(40))
                // The last one takes most of its stall, and is named.
                let milliseconds = round < 3 ? 130 + round * 10 : 600
                await Task.detached(name: "guilty") {
                    await withStallContext(name: "GET /guilty") { await spin(milliseconds) }
                }.value
                for victim in victims { await victim.value }
            }
            try await Task.sleep(for: .milliseconds(500))
            monitor.stop()
            let records = sink.records(from: 0).filter { $0.phase == .end }
            for record in records {
                print("\(record.duration) request=\(record.request?.name ?? "-") task=\(record.task?.name ?? "-")")
                guard record.request?.name ?? "GET /guilty" == "GET /guilty", record.task?.name ?? "guilty" == "guilty" else {
                    FoundationProbe.fail("a victim is named: \(record)")
                }
            }
            guard records.contains(where: { $0.request != nil && $0.duration > .milliseconds(500) }) else {
                FoundationProbe.fail("the long one is not named")
            }
        }
    }

    private static func spin(_ milliseconds: Int) {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while ContinuousClock.now < end {}
    }
}
