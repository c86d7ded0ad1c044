import CoreFoundation
import Foundation
import LagMonitor
import LagMonitorFoundation
import TestSupport
import Testing

extension FoundationTests {
    @Suite struct QuietTests {
        /// One short callback after the other for longer than the starvation rule allows: no work waits longer than a turn.
        @Test(arguments: [true, false]) func `short sources without a wait are not starvation`(usesRunLoop: Bool) throws {
            let thread = LoopThread(name: "turning", usesRunLoop: usesRunLoop)
            defer { thread.stop() }
            var rules = StallRules()
            rules.callout = .init(interval: .milliseconds(100))
            rules.starvationThreshold = .milliseconds(500)
            let watching = try Watching(thread.loop, rules: rules)
            defer { watching.monitor.stop() }
            let source = SelfSignallingSource(on: thread.core)
            source.start()
            sleep(2)
            source.stop()
            #expect(source.turns.value > 1000)
            #expect(watching.stalls.isEmpty, "\(watching.sink.lines)")
        }

        /// Thousands of timers, blocks, manual sources and nested runs: no record. `LAGMONITOR_QUIET_SECONDS` makes it longer.
        @Test func `a busy loop without stalls is not reported`() throws {
            let seconds = ProcessInfo.processInfo.environment["LAGMONITOR_QUIET_SECONDS"].flatMap(Double.init) ?? 3
            let thread = LoopThread(name: "busy")
            defer { thread.stop() }
            var rules = StallRules()
            rules.callout = .init(interval: .milliseconds(100))
            let watching = try Watching(thread.loop, rules: rules)
            defer { watching.monitor.stop() }
            let (count, blocks, sources, nested) = (Counter(), Counter(), Counter(), Counter())
            let timers = (0..<4).map { _ in Counter() }
            let source = ManualSource(on: thread.core) {
                count.add()
                sources.add()
            }
            thread.performAndWait {
                for fired in timers {
                    let timer = Timer(timeInterval: 0.001, repeats: true) { _ in
                        count.add()
                        fired.add()
                    }
                    RunLoop.current.add(timer, forMode: .common)
                }
                let nesting = Timer(timeInterval: 0.02, repeats: true) { _ in
                    count.add()
                    nested.add()
                    RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005))
                }
                RunLoop.current.add(nesting, forMode: .common)
            }
            let end = MonotonicTime.now + .nanoseconds(Int(seconds * 1e9))
            var submitted = 0
            while MonotonicTime.now < end {
                // Work that a busy machine has not done does not accumulate.
                if submitted - blocks.value < 500 {
                    for _ in 0..<10 {
                        thread.perform {
                            count.add()
                            blocks.add()
                        }
                    }
                    submitted += 10
                }
                source.signal()
                usleep(1000)
            }
            #expect(eventually { blocks.value == submitted }, "\(blocks.value) of \(submitted) blocks")
            #expect(submitted >= 100 && sources.value >= 10 && nested.value >= 10)
            #expect(timers.allSatisfy { $0.value >= 10 }, "\(timers.map(\.value))")
            #expect(watching.stalls.isEmpty, "\(watching.sink.lines)")
            print("\(Int(Double(count.value) / seconds)) callbacks a second for \(seconds) s, records: \(watching.stalls.count)")
        }
    }
}
