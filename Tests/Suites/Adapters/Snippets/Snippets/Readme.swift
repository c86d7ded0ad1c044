// The code shown in README.md, compiled: SnippetTests.swift compares the two.
import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency
import LagMonitorFoundation

#if NIO
    import LagMonitorNIO
    import NIOPosix
#endif

enum ReadmeSnippets {
    static func embedding() throws {
        let monitor = StallMonitor(sinks: [try FileSink(path: "stalls.jsonl")])
        try monitor.start()
        try monitor.watch(ObservedRunLoop.main)
        monitor.onStall(queue: .global()) { record in
            print(record.message)
        }
        ObservedRunLoop.main.run()
    }

    // swift-format-ignore: DoNotUseSemicolons, OneStatementPerLine
    static func rules(_ monitor: StallMonitor, _ worker: KeepAliveThread, _ queue: DispatchQueue) throws {
        var rules = StallRules()
        rules.callout = .init(interval: .milliseconds(20), timeouts: 3)
        try monitor.watch(worker.loop, rules: rules)
        try monitor.watch(PingedQueue(queue), rules: .pings)
        StallMonitor.expectingBlock { migrateDatabase() }
        monitor.pause(); monitor.resume()
    }

    #if NIO
        static func eventLoops(_ monitor: StallMonitor) throws {
            try monitor.watch(MultiThreadedEventLoopGroup.singleton, named: "http")
        }
    #endif

    static func pool(_ monitor: StallMonitor) throws {
        try monitor.watchConcurrencyPool()
    }

    static func foundation(_ monitor: StallMonitor) throws {
        try monitor.watch(FoundationLoop(RunLoop.main))
        let executor = try RunLoopExecutor(name: "database")
        try monitor.watch(executor.loop)
    }
}

/// What the snippets assume.
func migrateDatabase() {}
