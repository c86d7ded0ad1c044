import TestSupport
import Testing

@testable import LagDetection

/// Random threads, which run, wait for a processor and sleep, and random readings of them.
struct UsageMeterSimulationTests {
    private enum Doing: CaseIterable { case running, ready, asleep }

    /// What a thread did, and the values of its clocks.
    private struct Schedule {
        private var parts: [(begin: UInt64, doing: Doing)] = []

        /// - Parameter favourite: what it does most of the time; nil: anything.
        init(until end: UInt64, _ favourite: Doing?, _ random: inout SeededGenerator) {
            var time: UInt64 = 0
            while time < end {
                let isFavourite = favourite != nil && Int.random(in: 0..<4, using: &random) > 0
                parts.append((time, isFavourite ? favourite! : Doing.allCases.randomElement(using: &random)!))
                time += UInt64.random(in: 1...40 * millisecond, using: &random)
            }
        }

        func time(_ doing: Doing, until end: UInt64) -> UInt64 {
            var sum: UInt64 = 0
            for (index, part) in parts.enumerated() where part.doing == doing && part.begin < end {
                let next = index + 1 < parts.count ? parts[index + 1].begin : .max
                sum += min(next, end) - part.begin
            }
            return sum
        }

        func totals(at time: UInt64) -> UsageMeter.Totals {
            UsageMeter.Totals(
                reading: reading(at: time),
                times: ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: self.time(.ready, until: time)),
                faults: nil
            )
        }

        func reading(at time: UInt64, withDelay: Bool = false) -> UsageMeter.Reading {
            let delay = withDelay ? self.time(.ready, until: time) : nil
            return .init(time: time, cpu: 5_000_000_000 + self.time(.running, until: time), runDelay: delay)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `the error is at most the gap between two samples`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<100 {
            let favourite = [nil, Doing.running, .ready, .asleep][round % 4]
            let withDelay = round % 3 != 0
            let schedule = Schedule(until: 3000 * millisecond, favourite, &random)
            let since = UInt64.random(in: 200 * millisecond...800 * millisecond, using: &random)
            let until = since + UInt64.random(in: 100 * millisecond...1500 * millisecond, using: &random)
            var meter = UsageMeter()
            var (before, now): (UInt64, UInt64) = (0, 0)
            var gap: UInt64?
            while true {
                before = now
                now += UInt64.random(in: 1...60 * millisecond, using: &random)
                if now >= until { break }
                // A word for every turn before, then the callout that stalls.
                let isStalled = now >= since
                let began = isStalled ? since : now - 1
                let beacon = BeaconReading(word: isStalled ? 0 : now, calloutNanoseconds: began, wokeNanoseconds: began)
                meter.record(schedule.reading(at: now, withDelay: withDelay), beacon)
                guard isStalled, gap == nil else { continue }
                gap = now - before
                // The first sign is that reading or a later one.
                if Bool.random(using: &random) || meter.first != nil { continue }
                meter.first = schedule.totals(at: now)
            }
            guard let gap, let anchor = meter.callout else { continue }
            #expect(anchor.bounds(at: since).contains(schedule.reading(at: since).cpu), "seed \(seed), round \(round)")
            // The exact end is known by then, and read slightly later.
            let last = schedule.totals(at: until + UInt64.random(in: 0...millisecond, using: &random))
            let usage = meter.usage(since: since, until: until, length: until - since, spansCallouts: round % 2 == 0, last)
            let cpu = try #require(usage.cpuNanoseconds)
            let truth = schedule.time(.running, until: until) - schedule.time(.running, until: since)
            let error = cpu > truth ? cpu - truth : truth - cpu
            // The interval in which it may lie is at most half of the gap wide; the time read after the end is added.
            #expect(error <= gap / 2 + (last.reading.time - until), "seed \(seed), round \(round): \(cpu), truly \(truth)")
            #expect(cpu + (usage.runDelayNanoseconds ?? 0) + (usage.blockedNanoseconds ?? 0) == until - since)
            if let delay = usage.runDelayNanoseconds {
                let end = last.reading.time
                let waited = schedule.time(.ready, until: end) - schedule.time(.ready, until: since)
                // Scaled from the observed part: not exact, but zero if there was none.
                #expect(delay <= until - since - cpu)
                if waited == 0, !withDelay { #expect(delay == 0) }
                // If it is read at every scan, it is as exact as the gap between two scans.
                let own = schedule.time(.ready, until: until) - schedule.time(.ready, until: since)
                let error = delay > own ? delay - own : own - delay
                if withDelay { #expect(error <= gap + (end - until), "seed \(seed), round \(round): \(delay), truly \(own)") }
            } else {
                #expect(!withDelay)
            }
        }
    }
}
