// The code shown in the other articles, compiled: SnippetTests.swift compares the two.
import Dispatch
import LagMonitor

enum PageSnippets {
    /// LagMonitor.md
    static func overview(_ metrics: some CauseCounter) throws {
        let monitor = StallMonitor(sinks: [try FileSink(path: "stalls.jsonl")])
        try monitor.start()
        try monitor.watch(ObservedRunLoop.main)
        monitor.onStall(queue: .global()) { record in
            guard record.phase != .begin else { return }
            metrics.count(record.cause)
        }
        ObservedRunLoop.main.run()
    }

    /// DetectionRules.md
    static func detectionRules(_ monitor: StallMonitor, _ database: Database) throws {
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(100), timeouts: 5)
        try monitor.watch(PingedQueue(.main), rules: rules)

        try StallMonitor.expectingBlock { try database.open() }
    }
}

/// What the snippets assume.
protocol CauseCounter: Sendable {
    func count(_ cause: StallRecord.Cause)
}
