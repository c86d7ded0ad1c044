import Foundation
import LagMonitor
import LagMonitorFoundation
import TestSupport
import Testing

@inline(never) func blockForTheTest(milliseconds: Int = 300) { usleep(UInt32(milliseconds) * 1000) }

@inline(never) @discardableResult func spinForTheTest(milliseconds: Int = 300) -> ProcessorTime {
    ProcessorTime.compute(milliseconds: milliseconds)
}

/// A started monitor and its records.
final class Watching: Sendable {
    let monitor: StallMonitor
    let sink = MemorySink()

    init(_ loop: FoundationLoop, rules: StallRules? = nil) throws {
        var configuration = StallMonitorConfiguration()
        // 40 ms × 3: well above the delays of an idle loop on a busy machine.
        configuration.rules.callout = .init(interval: .milliseconds(40))
        monitor = StallMonitor(configuration: configuration, sinks: [sink])
        try monitor.start()
        try monitor.watch(loop, rules: rules)
    }

    var stalls: [[String: Any]] {
        sink.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }.filter {
            $0["event"] as? String == "stall"
        }
    }

    /// The single expected stall.
    func stall() throws -> Stall {
        #expect(eventually { stalls.count >= 1 }, "no record")
        #expect(stalls.count == 1, "\(sink.lines)")
        return Stall(fields: try #require(stalls.first))
    }
}

struct Stall {
    let fields: [String: Any]

    func string(_ key: String) -> String { fields[key] as? String ?? "" }
    func number(_ key: String) -> Double { (fields[key] as? NSNumber)?.doubleValue ?? .nan }
    var symbols: [String] { ((fields["frames"] as? [[String: Any]]) ?? []).compactMap { $0["symbol"] as? String } }
    /// Whether it shows the computation; a thread that waits for a processor does not answer a signal, and may have no stack.
    func namesSpinning(_ time: ProcessorTime?) -> Bool {
        names("spinForTheTest") || time.map { !$0.alwaysAnswersInTime } ?? false
    }
    func names(_ function: String) -> Bool { symbols.contains { $0.contains(function) } }
}
