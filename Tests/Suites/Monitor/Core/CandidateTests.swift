import Dispatch
internal import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagMonitor

extension MonitorTests {
    /// Loops that are not yet confirmed to be loops.
    @Suite struct CandidateTests {
        private final class Candidate: CandidateLoop {
            let beacon: ActivityBeacon
            let thread: ThreadIdentity
            let name = "candidate"
            private let confirmed = Atomic(false)

            init(_ loop: ObservedRunLoop) {
                beacon = loop.beacon
                thread = loop.thread
            }

            var isConfirmed: Bool { confirmed.load(ordering: .acquiring) }
            func confirm() { confirmed.store(true, ordering: .releasing) }
            private let doubtfulSince = Atomic(UInt64.max)
            func isDoubtful(at time: UInt64) -> Bool { time >= doubtfulSince.load(ordering: .acquiring) }
            /// Its work since then is in doubt; nil: none is.
            func doubt(since begin: UInt64?) { doubtfulSince.store(begin ?? .max, ordering: .releasing) }
        }

        /// Returns once the watchdog and the reporter have processed what happened before the call, whether it was reported or
        /// withheld: they process another loop's stalls afterwards. The second stall begins in a later scan than the first one
        /// ends.
        private func passEvents() throws {
            let other = try Watched()
            defer { other.end() }
            for number in 1...2 {
                other.stall()
                #expect(eventually { other.sink.records.count(where: { $0.phase == "end" }) == number })
            }
        }

        /// A candidate that has stalled for longer than a hang takes.
        private func stalled(_ body: (Watched, Candidate) throws -> Void) throws {
            var configuration = MonitorTests.configuration
            configuration.hangAfter = .milliseconds(200)
            let watched = try Watched(configuration)
            defer { watched.end() }
            watched.monitor.unwatch(watched.thread.loop)
            let candidate = Candidate(watched.thread.loop)
            try watched.monitor.watch(candidate)
            watched.stall(milliseconds: 500)
            try passEvents()
            #expect(watched.sink.lines.isEmpty, "\(watched.sink.lines)")
            #expect(watched.monitor.statistics.withoutPauses == StallMonitorStatistics())
            try body(watched, candidate)
        }

        @Test func `a stall is reported once its loop is confirmed`() throws {
            try stalled { watched, candidate in
                candidate.confirm()
                watched.monitor.reportConfirmed()
                #expect(eventually { watched.sink.records.count == 1 })
                let line = try #require(watched.sink.records.first)
                #expect(line.phase == "end" && line.string("loop") == "candidate" && line.number("duration_ms") >= 500)
                #expect(line.names("blockForTheTest"), "\(line.symbols)")
                #expect(eventually { watched.monitor.statistics.reported == 1 } && watched.monitor.statistics.stalls == 1)
                // From now on, as for any loop.
                watched.stall(milliseconds: 500, untilRecords: 2)
                #expect(eventually { watched.sink.records.count == 3 })
                #expect(watched.sink.records.map(\.phase) == ["end", "begin", "end"])
            }
        }

        @Test func `a stall before the confirmation is reported before a later one`() throws {
            try stalled { watched, candidate in
                candidate.confirm()
                // Not announced: the next stall triggers the report.
                watched.stall(milliseconds: 250)
                #expect(eventually { watched.sink.records.count(where: { $0.phase == "end" }) == 2 })
                let ends = watched.sink.records.filter { $0.phase == "end" }
                let (first, second) = try (#require(ends.first), #require(ends.last))
                #expect(first.number("duration_ms") >= 500 && first.number("mono_us") < second.number("mono_us"))
            }
        }

        @Test func `a stall that is aborted before its loop is confirmed counts as dropped`() throws {
            try stalled { watched, candidate in
                let end = DispatchSemaphore(value: 0)
                let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
                #expect(eventually { injected.hasBegun && MonotonicTime.now.nanoseconds > injected.begin + 400_000_000 })
                watched.monitor.pause(candidate)
                try passEvents()
                #expect(watched.sink.lines.isEmpty, "\(watched.sink.lines)")
                end.signal()
                #expect(eventually { injected.isOver })
                candidate.confirm()
                watched.monitor.reportConfirmed()
                #expect(eventually { watched.monitor.statistics.reported == 1 })
                let statistics = watched.monitor.statistics
                #expect(statistics.stalls == 2 && statistics.dropped == 1, "\(statistics)")
            }
        }

        @Test func `a stall of a confirmed loop in doubt is reported once the doubt is cleared`() throws {
            try stalled { watched, candidate in
                candidate.doubt(since: 0)
                candidate.confirm()
                watched.monitor.reportConfirmed()
                // A stall that ends while the loop is in doubt is dismissed.
                watched.stall(milliseconds: 500)
                #expect(eventually { watched.monitor.statistics.dismissed == 1 }, "\(watched.monitor.statistics)")
                #expect(watched.sink.lines.isEmpty, "\(watched.sink.lines)")
                candidate.doubt(since: nil)
                watched.monitor.reportConfirmed()
                #expect(eventually { watched.monitor.statistics.reported == 1 }, "\(watched.monitor.statistics)")
                #expect(watched.sink.records.map(\.phase) == ["end"], "\(watched.sink.lines)")
            }
        }

        @Test func `a stall is reported although its loop is at later work in doubt by then`() throws {
            try stalled { watched, candidate in
                candidate.confirm()
                watched.monitor.reportConfirmed()
                #expect(eventually { watched.sink.records.count == 1 })
                let end = DispatchSemaphore(value: 0)
                let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
                #expect(eventually { injected.hasBegun })
                // After the stall's beginning, and before its end.
                candidate.doubt(since: injected.begin + 1_000_000)
                #expect(eventually { MonotonicTime.now.nanoseconds > injected.begin + 150_000_000 })
                end.signal()
                let isReported = eventually { watched.sink.records.count(where: { $0.phase == "end" }) == 2 }
                #expect(isReported, "\(watched.monitor.statistics)")
                #expect(watched.monitor.statistics.dismissed == 0, "\(watched.monitor.statistics)")
            }
        }

        @Test func `a hang whose beginning was reported gets its end, although the loop is in doubt by then`() throws {
            try stalled { watched, candidate in
                candidate.confirm()
                watched.monitor.reportConfirmed()
                #expect(eventually { watched.sink.records.map(\.phase) == ["end"] })
                let end = DispatchSemaphore(value: 0)
                let injected = Injected(on: watched.thread) { blockForTheTest(until: end) }
                #expect(eventually { watched.sink.records.map(\.phase) == ["end", "begin"] })
                candidate.doubt(since: 0)
                end.signal()
                #expect(eventually { injected.isOver })
                #expect(eventually { watched.sink.records.map(\.phase) == ["end", "begin", "end"] })
                #expect(watched.monitor.statistics.dismissed == 0, "\(watched.monitor.statistics)")
            }
        }

        @Test func `a candidate that is confirmed after its watch ended is not reported`() throws {
            try stalled { watched, candidate in
                watched.monitor.unwatch(candidate)
                try passEvents()
                candidate.confirm()
                watched.monitor.reportConfirmed()
                try passEvents()
                #expect(watched.sink.lines.isEmpty, "\(watched.sink.lines)")
            }
        }

        @Test func `a candidate that is never confirmed is not reported`() throws {
            try stalled { watched, candidate in
                watched.monitor.unwatch(candidate)
                watched.monitor.stop()
                #expect(watched.sink.lines.isEmpty && watched.monitor.statistics.stalls == 0)
            }
        }
    }
}
