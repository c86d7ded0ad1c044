import CoreFoundation
import Foundation
import LagMonitor
import LagMonitorFoundation
import Synchronization
import TestSupport
import Testing

/// All tests that start a monitor: one at a time, because the process has only one engine.
@Suite(.serialized) struct FoundationTests {
    @Suite struct StallTests {
        @Test(arguments: [true, false]) func `a block that blocks is found on its thread`(usesRunLoop: Bool) throws {
            let thread = LoopThread(name: "foundation", usesRunLoop: usesRunLoop)
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            // It is ready before it waits for the first time.
            #expect(eventually { thread.loop.beacon.activity == .waiting })
            thread.perform { blockForTheTest() }
            let stall = try watching.stall()
            #expect(stall.string("kind") == "callout" && stall.string("loop") == "foundation")
            #expect(stall.number("thread_id") == Double(thread.loop.thread.tid))
            // The wake for the block ended the wait, and blocks are also performed at the end of a turn.
            #expect(
                stall.string("activity") == "after_waiting" && stall.string("mode") == "kCFRunLoopDefaultMode",
                "\(stall.fields)"
            )
            #expect(stall.names("blockForTheTest"), "\(stall.symbols)")
            #expect(stall.string("culprit").contains("blockForTheTest"), "\(stall.fields)")
            #expect(stall.number("duration_ms") >= 299)
        }

        @Test func `a manual source that computes is found`() throws {
            let thread = LoopThread(name: "source")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            let had = Mutex<ProcessorTime?>(nil)
            let source = ManualSource(on: thread.core) {
                let time = spinForTheTest()
                had.withLock { $0 = time }
            }
            source.signal()
            let stall = try watching.stall()
            #expect(stall.string("activity") == "before_sources", "\(stall.fields)")
            #expect(stall.namesSpinning(had.withLock { $0 }), "\(stall.fields)")
        }

        @Test func `a timer that blocks is found`() throws {
            let thread = LoopThread(name: "timer")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            thread.perform {
                let timer = Timer(timeInterval: 0.05, repeats: false) { _ in blockForTheTest() }
                RunLoop.current.add(timer, forMode: .common)
            }
            let stall = try watching.stall()
            #expect(stall.string("activity") == "after_waiting" && stall.names("blockForTheTest"), "\(stall.symbols)")
        }

        @Test func `another observer that blocks is found`() throws {
            let thread = LoopThread(name: "observer")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            thread.perform {
                let activity = CFRunLoopActivity.beforeWaiting.rawValue
                let observer = CFRunLoopObserverCreateWithHandler(nil, activity, false, 0) { _, _ in blockForTheTest() }
                CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, kCFRunLoopCommonModes)
            }
            let stall = try watching.stall()
            #expect(stall.string("activity") == "before_waiting" && stall.names("blockForTheTest"), "\(stall.symbols)")
        }

        @Test func `a stall in a run inside a callback is found`() throws {
            let thread = LoopThread(name: "nested")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            thread.perform {
                CFRunLoopPerformBlock(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) { blockForTheTest() }
                RunLoop.current.run(until: Date(timeIntervalSinceNow: 1))
            }
            let stall = try watching.stall()
            #expect(stall.names("blockForTheTest") && stall.number("duration_ms") < 900, "\(stall.fields)")
        }

        @Test func `a stall after a run inside a callback is found with its own length`() throws {
            let thread = LoopThread(name: "outer")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            thread.perform {
                // The run waits, which is not a stall; the block after it in the same callback is one, with its own length.
                RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.5))
                blockForTheTest()
            }
            let stall = try watching.stall()
            #expect(stall.names("blockForTheTest") && stall.number("duration_ms") < 700, "\(stall.fields)")
        }

        @Test func `a stall in a given mode is found`() throws {
            let thread = LoopThread(name: "modes", watchesItself: false)
            defer { thread.stop() }
            let mode = RunLoop.Mode("of the test")
            let loop = FoundationLoop(thread.runLoop, modes: [mode])
            #expect(loop.name == "modes")
            let watching = try Watching(loop)
            defer { watching.monitor.stop() }
            thread.perform {
                let quiet = Timer(timeInterval: 0.3, repeats: false) { _ in }
                let blocking = Timer(timeInterval: 0.4, repeats: false) { _ in blockForTheTest() }
                for timer in [quiet, blocking] { RunLoop.current.add(timer, forMode: RunLoop.Mode("of the test")) }
                _ = RunLoop.current.run(mode: RunLoop.Mode("of the test"), before: Date(timeIntervalSinceNow: 1))
            }
            let stall = try watching.stall()
            #expect(stall.string("mode") == "of the test" && stall.names("blockForTheTest"), "\(stall.fields)")
        }

        @Test func `expected blocks are not stalls`() throws {
            let thread = LoopThread(name: "expected")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            let loop = thread.loop
            thread.performAndWait { loop.expectingBlock { blockForTheTest() } }
            let had = Mutex<ProcessorTime?>(nil)
            thread.performAndWait {
                let time = spinForTheTest()
                had.withLock { $0 = time }
            }
            let stall = try watching.stall()
            #expect(!stall.names("blockForTheTest"), "\(stall.symbols)")
            #expect(stall.namesSpinning(had.withLock { $0 }), "\(stall.fields)")
        }

        @Test func `pings alone find a stall`() throws {
            let thread = LoopThread(name: "asked")
            defer { thread.stop() }
            var rules = StallRules()
            rules.callout = nil
            rules.ping = .init(interval: .milliseconds(40))
            let watching = try Watching(thread.loop, rules: rules)
            defer { watching.monitor.stop() }
            usleep(300_000)
            #expect(watching.stalls.isEmpty)
            let search = StallSearch(watching.monitor)
            thread.perform { repeat { blockForTheTest(milliseconds: 500) } while !search.isOver }
            let stall = try watching.stall()
            #expect(stall.string("kind") == "ping" && stall.names("blockForTheTest"), "\(stall.fields)")
        }
    }
}
