import Dispatch
import Foundation
import LagMonitor
import Synchronization
import TestSupport
import Testing

extension MonitorTests {
    /// What a stop writes, counts and releases.
    @Suite struct StopTests {
        /// Another monitor, which keeps the engine running, with the program's symbols read: on a busy machine, reading them takes
        /// longer than a stop waits for the lines.
        private func engineWithSymbols() throws -> Watched {
            let other = try Watched()
            other.stall()
            #expect(eventually { other.sink.records.count == 1 })
            return other
        }

        @Test func `file and descriptor sinks write again after a restart`() throws {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lag-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let path = directory.appendingPathComponent("stalls.jsonl").path
            let pipe = Pipe()
            let sinks: [any RecordSink] = [
                try FileSink(path: path),
                try DescriptorSink(descriptor: pipe.fileHandleForWriting.fileDescriptor, name: "pipe"),
            ]
            let monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: sinks)
            let thread = try KeepAliveThread(name: "worker")
            let other = try engineWithSymbols()
            for _ in 0..<2 {
                try monitor.start()
                try monitor.watch(thread.loop)
                let injected = Injected(on: thread) { blockForTheTest(milliseconds: 250) }
                #expect(eventually { injected.isOver && thread.loop.beacon.activity == .waiting })
                monitor.stop()
            }
            #expect(monitor.statistics.dropped == 0)
            #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == 2)
            try pipe.fileHandleForWriting.close()
            let read = try pipe.fileHandleForReading.readToEnd() ?? Data()
            #expect(String(decoding: read, as: UTF8.self).split(separator: "\n").count == 2)
            // Its descriptor is closed now: a start reports this instead of losing lines.
            let error = #expect(throws: StallMonitorError.self) { try monitor.start() }
            guard case .sinkUnavailable(let reason)? = error else {
                other.end()
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("pipe"))
            other.end()
            #expect(!monitor.isRunning && engineEnds)
            thread.stop()
            thread.join()
        }

        @Test func `stopping during a stall abandons the stall`() throws {
            let watched = try Watched()
            // Reads the program's symbols, see `engineWithSymbols`.
            watched.stall()
            #expect(eventually { watched.sink.records.count == 1 })
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
            #expect(eventually { watched.monitor.statistics.stalls == 2 })
            watched.monitor.stop()
            #expect(!injected.isOver)
            end.signal()
            let line = try #require(watched.sink.records.last)
            #expect(watched.sink.records.count == 2)
            #expect(line.phase == "abandoned" && line.string("severity") == "critical")
            #expect(line.names("blockForTheTest"))
            #expect(line.number("duration_ms") >= 120)
            #expect(engineEnds)
            #expect(eventually { injected.isOver })
            #expect(Double(injected.nanoseconds) > line.number("duration_ms") * 1e6)
            watched.end()
        }

        @Test func `a sink may query the monitor while the monitor stops`() throws {
            let sink = AskingSink()
            let monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: [sink])
            sink.monitor.withLock { $0 = monitor }
            defer { sink.monitor.withLock { $0 = nil } }
            let thread = try KeepAliveThread(name: "worker")
            try monitor.start()
            try monitor.watch(thread.loop)
            let end = DispatchSemaphore(value: 0)
            let injected = Injected(on: thread) { blockForTheTest(until: end) }
            #expect(eventually { monitor.statistics.stalls == 1 })
            monitor.stop()
            end.signal()
            #expect(eventually { injected.isOver })
            #expect(sink.answers.load(ordering: .acquiring) >= 1)
            #expect(monitor.statistics.reported == 1 && monitor.statistics.dropped == 0)
            thread.stop()
            thread.join()
        }

        @Test func `the counts remain after a stop during which the reporter hangs`() throws {
            let hanging = try HangingReporter()
            let monitor = hanging.monitor
            monitor.stop()
            #expect(monitor.statistics.stalls == 1)
            hanging.sink.release()
            #expect(eventually { !engineRuns && monitor.statistics.reported == 1 })
            #expect(monitor.statistics.stalls == 1)
            hanging.endThread()
        }

        @Test func `a stop waits less for a hanging sink than for the monitor's threads`() throws {
            // It keeps the threads running: they are not joined.
            let other = try Watched()
            let hanging = try HangingReporter()
            let monitor = hanging.monitor
            let begin = MonotonicTime.now
            monitor.stop()
            // A second and a quarter, not four.
            #expect(MonotonicTime.now - begin < .milliseconds(3500))
            hanging.sink.release()
            other.end()
            hanging.endThread()
        }

        /// All lines fail at the moment at which the wait ends. The other monitor keeps the threads running: they are not joined.
        @Test func `lines that a sink gives up at the stop are counted as dropped`() throws {
            let stalls: UInt64 = 5
            let monitor = StallMonitor(configuration: MonitorTests.configuration, sinks: [WaitingSink()])
            let other = StallMonitor(configuration: MonitorTests.configuration)
            let thread = try KeepAliveThread(name: "worker")
            try monitor.start()
            try other.start()
            try monitor.watch(thread.loop)
            for stall in 1...stalls {
                let injected = Injected(on: thread) { blockForTheTest(milliseconds: 250) }
                #expect(eventually { injected.isOver && monitor.statistics.stalls == stall })
            }
            monitor.stop()
            // On a busy machine, later records may not have reached the sink yet.
            #expect(eventually { monitor.statistics.dropped == stalls } && monitor.statistics.reported == 0)
            other.stop()
            thread.stop()
            thread.join()
        }

        @Test func `a stall that ended before the stop is not abandoned`() throws {
            let other = try engineWithSymbols()
            defer { other.end() }
            for _ in 0..<5 {
                let watched = try Watched()
                watched.stall(milliseconds: 200)
                watched.end()
                #expect(watched.sink.records.map(\.phase) == ["end"])
            }
        }
    }
}
