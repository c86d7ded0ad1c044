import Foundation
import LagMonitor
import LagMonitorConcurrency
import TestSupport

/// A request that blocks the main actor, and others that only waited for it and run for a moment afterwards: all of it is one
/// stall, and none of the others is named.
@MainActor enum Turns {
    nonisolated static func check() {
        runInTask {
            let sink = CollectedStalls()
            let monitor = sink.recordingMonitor()
            try monitor.start()
            try monitor.watch(PingedQueue(.main), rules: .heartbeat)
            for round in 0..<3 { try await block(milliseconds: 130 + round * 10) }
            // The last one takes most of its stall, and is named, unless a busy machine lets the watchdog read too rarely.
            for _ in Attempts("the name of a request that blocks the main actor for long") {
                try await block(milliseconds: 600)
                try await Task.sleep(for: .milliseconds(500))
                if isNamed(sink) { break }
            }
            monitor.stop()
            for record in ended(sink) {
                print("\(record.duration) request=\(record.request?.name ?? "-") task=\(record.task?.name ?? "-")")
                guard record.request?.name ?? "GET /guilty" == "GET /guilty", record.task?.name ?? "guilty" == "guilty" else {
                    FoundationProbe.fail("a victim is named: \(record)")
                }
            }
            guard isNamed(sink) else { FoundationProbe.fail("the long one is not named") }
        }
    }

    nonisolated private static func block(milliseconds: Int) async throws {
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
        await Task.detached(name: "guilty") {
            await withStallContext(name: "GET /guilty") { await spin(milliseconds) }
        }.value
        for victim in victims { await victim.value }
    }

    nonisolated private static func ended(_ sink: CollectedStalls) -> [StallRecord] {
        sink.records(from: 0).filter { $0.phase == .end }
    }

    /// Whether a long stall names its request.
    nonisolated private static func isNamed(_ sink: CollectedStalls) -> Bool {
        ended(sink).contains { $0.request != nil && $0.duration > .milliseconds(500) }
    }

    private static func spin(_ milliseconds: Int) {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while ContinuousClock.now < end {}
    }
}
