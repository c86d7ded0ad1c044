import Dispatch
import Foundation
import LagMonitor
import Synchronization
import TestSupport
import Testing

extension MonitorTests {
    /// Starting, watching and no longer watching.
    @Suite struct LifeTests {
        @Test func `a failed start keeps the loops that were registered to be watched`() throws {
            let monitor = StallMonitor()
            let queue = PingedQueue(.main)
            try monitor.watchFromStart(queue, rules: StallRules())
            for _ in 0..<2 { #expect(throws: StallMonitorError.self) { try monitor.start() } }
            #expect(!monitor.isRunning)
            monitor.unwatch(queue)
            try monitor.start()
            monitor.stop()
        }

        @Test func `start and stop are idempotent, and the monitor can be started again`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let monitor = watched.monitor
            try monitor.start()
            #expect(StallMonitor.isSupported && monitor.isRunning && engineRuns)
            monitor.stop()
            monitor.stop()
            #expect(!monitor.isRunning && engineEnds)
            #expect(watched.sink.isClosed)
            watched.stall()
            #expect(watched.sink.records.isEmpty)
            for count in 1...2 {
                try monitor.start()
                try monitor.watch(watched.thread.loop)
                watched.stall()
                #expect(eventually { watched.sink.records.count == count })
                monitor.stop()
            }
            #expect(watched.sink.records.map { $0.integer("seq") } == [1, 2])
            #expect(monitor.statistics.stalls == 2 && monitor.statistics.dropped == 0)
        }

        @Test func `an unwatched loop is no longer reported`() throws {
            let watched = try Watched()
            defer { watched.end() }
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { watched.monitor.statistics.stalls == 1 })
            watched.monitor.unwatch(watched.thread.loop)
            watched.monitor.unwatch(watched.thread.loop)
            #expect(eventually { watched.sink.records.count == 1 })
            #expect(watched.sink.records.first?.phase == "abandoned")
            end.signal()
            #expect(eventually { injected.isOver })
            watched.stall()
            #expect(watched.monitor.statistics.stalls == 1)
        }

        @Test func `a loop that is unwatched and watched again is reported`() throws {
            let watched = try Watched()
            defer { watched.end() }
            for _ in 0..<100 {
                watched.monitor.unwatch(watched.thread.loop)
                try watched.monitor.watch(watched.thread.loop)
            }
            watched.stall()
            #expect(eventually { watched.sink.records.count == 1 })
        }

        @Test func `what an earlier watch reported is not reported again`() throws {
            let watched = try Watched()
            let (monitor, sink) = (watched.monitor, watched.sink)
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { monitor.statistics.stalls == 1 })
            monitor.unwatch(watched.thread.loop)
            #expect(eventually { sink.records.count == 1 })
            try monitor.watch(watched.thread.loop)
            #expect(eventually { monitor.statistics.stalls == 2 })
            end.signal()
            #expect(eventually { injected.isOver && sink.records.count == 2 })
            let (first, second) = (try #require(sink.records.first), try #require(sink.records.last))
            #expect(first.phase == "abandoned" && second.phase == "end")
            #expect(second.number("mono_us") >= first.number("mono_us") + first.number("duration_ms") * 1000)
            watched.end()
        }

        @Test(arguments: [false, true])
        func `a loop whose thread exits is released`(inAStall: Bool) throws {
            let sink = MemorySink()
            let monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: [sink])
            try monitor.start()
            defer { monitor.stop() }
            weak var loop: ObservedRunLoop?
            try { () throws -> Void in
                let thread = try KeepAliveThread(name: "mortal")
                loop = thread.loop
                try monitor.watch(thread.loop)
                let search = StallSearch(monitor)
                thread.perform {
                    if inAStall { repeat { blockForTheTest(milliseconds: 250) } while !search.isOver }
                    KeepAliveThread.stopCurrent()
                }
                thread.join()
            }()
            #expect(eventually { loop == nil })
            #expect(eventually { sink.records.count == (inAStall ? 1 : 0) })
            #expect(monitor.statistics.stalls == (inAStall ? 1 : 0))
            if inAStall {
                let line = try #require(sink.records.first)
                #expect(line.phase == "end" && line.string("loop") == "mortal" && line.names("blockForTheTest"))
            }
        }

        @Test func `three monitors on one loop each follow their own rule`() throws {
            var slow = StallMonitorConfiguration()
            slow.rules.callout = .init(interval: .seconds(1))
            let patient = MemorySink()
            let second = StallMonitor(configuration: slow, sinks: [patient])
            let watched = try Watched(name: "common")
            defer { watched.end() }
            let shared = CollectedRecords()
            let handler = StallMonitor.shared.onStall(queue: .global()) { shared.add($0) }
            for monitor in [second, StallMonitor.shared] {
                try monitor.start()
                try monitor.watch(watched.thread.loop)
            }
            watched.stall(milliseconds: 400)
            #expect(eventually { watched.sink.records.count == 1 && shared.records.count == 1 })
            #expect(watched.sink.records.first?.number("threshold_ms") == 120)
            #expect(shared.records.first?.thresholdNanoseconds == 150_000_000)
            #expect(patient.lines.isEmpty && second.statistics.withoutPauses == StallMonitorStatistics())
            // One of them stops: the others continue.
            second.stop()
            #expect(engineRuns)
            watched.monitor.stop()
            watched.stall(milliseconds: 300)
            #expect(eventually { shared.records.count == 2 })
            #expect(watched.sink.records.count == 1)
            handler.cancel()
            StallMonitor.shared.stop()
            #expect(engineEnds)
        }

        @Test func `a released monitor stops`() throws {
            let thread = try KeepAliveThread(name: "worker")
            try { () throws -> Void in
                let monitor = StallMonitor()
                try monitor.start()
                try monitor.watch(thread.loop)
                #expect(engineRuns)
            }()
            #expect(engineEnds)
            thread.stop()
            thread.join()
        }

        @Test func `a monitor that is released in its own handler stops`() throws {
            let thread = try KeepAliveThread(name: "worker")
            try { () throws -> Void in
                let monitor = StallMonitor(configuration: MonitorTests.configuration)
                try monitor.start()
                try monitor.watch(thread.loop)
                monitor.onStall(queue: .global()) { _ in monitor.stop() }
            }()
            _ = Injected(on: thread) { blockForTheTest(milliseconds: 250) }
            #expect(eventually { !engineRuns })
            thread.stop()
            thread.join()
        }
    }
}
