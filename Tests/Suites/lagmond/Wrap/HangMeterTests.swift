internal import LagMonitor
internal import Testing

@testable internal import lagmond

/// Readings are injected; nothing sleeps.
struct HangMeterTests {
    private static func reading(
        _ milliseconds: UInt64,
        sequence: UInt64 = 1,
        working: Bool = true,
        loop: Bool? = true,
        pending: Bool? = true,
        computed: Int = 0,
        held: Bool = false,
        waited: Int = 0
    ) -> HangMeter.Reading {
        HangMeter.Reading(
            sequence: sequence,
            isWorking: working,
            time: MonotonicTime(nanoseconds: milliseconds * 1_000_000),
            isLoop: loop,
            isWorkPending: pending,
            computed: .milliseconds(computed),
            isStoppedOrTraced: held,
            waitedForProcessor: .milliseconds(waited)
        )
    }

    private static func hung(_ readings: [HangMeter.Reading], gap: Duration = .milliseconds(200)) -> Duration {
        var meter = HangMeter(longestGap: gap)
        for reading in readings { meter.add(reading) }
        return meter.hung
    }

    @Test func `a callback that does not return while work waits adds up to a hang`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100) }) == .seconds(1))
    }

    @Test func `time before the first poll does not count`() {
        #expect(Self.hung([Self.reading(90_000)]) == .zero)
    }

    @Test func `a thread without waiting work does not hang`() {
        #expect(Self.hung((0...1000).map { Self.reading($0 * 100, pending: false) }) == .zero)
    }

    @Test func `a poll without pending work restarts the count`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, pending: $0 != 6) }) == .milliseconds(300))
    }

    /// Another thread's examination had not ended.
    @Test func `a poll that finds nothing out does not restart the count`() {
        func hung(_ unknown: ClosedRange<UInt64>, _ loop: Bool?, computed: Int = 0) -> Duration {
            Self.hung(
                (0...10 as ClosedRange<UInt64>).map {
                    var reading = Self.reading($0 * 100, pending: computed == 0, computed: Int($0) * computed)
                    if unknown.contains($0) { (reading.isLoop, reading.isWorkPending) = (loop, nil) }
                    return reading
                }
            )
        }
        // Of the loop itself, or of another one that may fetch its events.
        for loop in [nil, true] { #expect(hung(6...6, loop) == .milliseconds(800)) }
        #expect(hung(3...7, nil) == .milliseconds(400))
        #expect(hung(6...6, false) == .milliseconds(300))
        // The events of a loop that computes do not matter.
        #expect(hung(3...7, true, computed: 95) == .seconds(1))
    }

    /// A server with as many clients as it takes may wait again and again on purpose.
    @Test func `a proof that holds while the thread sleeps on restarts the count when it has slept again`() {
        func hung(unknown: UInt64? = nil, sequenceChangesAt change: UInt64 = 0, _ sleeps: (UInt64) -> UInt64?) -> Duration {
            Self.hung(
                (0...10 as ClosedRange<UInt64>).map { poll in
                    let isKnown = poll != unknown
                    var reading = Self.reading(
                        poll * 100,
                        sequence: poll < change ? 1 : 2,
                        loop: isKnown ? true : nil,
                        pending: isKnown ? true : nil
                    )
                    reading.provedSleeps = isKnown ? sleeps(poll) : nil
                    return reading
                }
            )
        }
        #expect(hung { _ in 7 } == .seconds(1))
        #expect(hung { $0 } == .zero)
        #expect(hung { $0 < 6 ? 7 : 8 } == .milliseconds(400))
        // Meanwhile its calls show the same.
        #expect(hung { $0 < 6 ? 7 : nil } == .seconds(1))
        #expect(hung { $0 == 5 ? nil : $0 < 5 ? 7 : 8 } == .milliseconds(400))
        // Nothing is known for a moment.
        #expect(hung(unknown: 5) { $0 < 5 ? 7 : 8 } == .milliseconds(400))
        #expect(hung(unknown: 5) { _ in 7 } == .milliseconds(800))
        // Another callback.
        #expect(hung(sequenceChangesAt: 5) { $0 < 5 ? 7 : 8 } == .milliseconds(500))
    }

    @Test func `a long time about which nothing is known restarts the count`() {
        func hung(_ unknown: UInt64, held: Bool = false, runnable: Bool = false) -> Duration {
            var meter = HangMeter(longestGap: .milliseconds(200))
            for poll in 0..<(50 + unknown) {
                let isKnown = poll < 25 || poll >= 25 + unknown
                var reading = Self.reading(
                    poll * 100,
                    loop: isKnown || held ? true : nil,
                    pending: isKnown ? true : nil,
                    held: held && !isKnown
                )
                reading.isRunnable = runnable
                meter.add(reading)
            }
            return meter.hung
        }
        #expect(hung(50) == .milliseconds(4800))
        #expect(hung(36_000) == .milliseconds(2400))
        // A stopped process is not idle.
        #expect(hung(36_000, held: true) == .milliseconds(4800))
        // Nor is one that waits for a processor.
        #expect(hung(36_000, runnable: true) == .milliseconds(4800))
        // Exactly ten seconds do not: n unknown polls are n + 1 intervals of 100 ms.
        #expect(hung(99) == .milliseconds(4800) && hung(100) == .milliseconds(2400))
    }

    /// Such as of lagmond's own control group, when it was stopped.
    @Test func `a gap between polls adds no more than its limit to the unknown time`() {
        let readings = [
            Self.reading(0), Self.reading(100), Self.reading(20_000, loop: nil), Self.reading(20_100), Self.reading(20_200),
        ]
        #expect(Self.hung(readings) == .milliseconds(200))
    }

    @Test func `an action has to wait for a poll that finds something out`() {
        var meter = HangMeter(longestGap: .milliseconds(200))
        for time in 0...5 { meter.add(Self.reading(UInt64(time) * 100)) }
        #expect(meter.isDue(after: .milliseconds(500)) && !meter.isDue(after: .milliseconds(501)))
        meter.add(Self.reading(600, loop: nil, pending: nil))
        #expect(!meter.isDue(after: .milliseconds(500)) && meter.hung == .milliseconds(500))
        meter.add(Self.reading(700))
        #expect(meter.isDue(after: .milliseconds(500)))
        meter.isHandled = true
        #expect(!meter.isDue(after: .milliseconds(500)))
    }

    @Test func `a thread that is not proved to be a loop does not hang`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, loop: false, computed: Int($0) * 100) }) == .zero)
    }

    @Test func `a loop that computes all the time hangs even without pending work`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, pending: false, computed: Int($0) * 95) }) == .seconds(1))
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, pending: false, computed: Int($0) * 50) }) == .zero)
    }

    @Test func `another callback restarts the count`() {
        var meter = HangMeter(longestGap: .milliseconds(200))
        for time in 0...5 { meter.add(Self.reading(UInt64(time) * 100)) }
        meter.isHandled = true
        meter.add(Self.reading(600, sequence: 2))
        #expect(meter.hung == .zero && !meter.isHandled)
    }

    @Test func `an idle loop does not hang`() {
        #expect(Self.hung((0...50).map { Self.reading($0 * 100, working: false) }) == .zero)
    }

    @Test func `time during which the thread is stopped or traced does not count`() {
        let readings = (0...10).map { Self.reading($0 * 100, held: (3...7).contains($0)) }
        // From 0 to 200, and from 800 to 1000: an interval with a stop at either end does not count.
        #expect(Self.hung(readings) == .milliseconds(400))
        #expect(Self.hung((0...100).map { Self.reading($0 * 100, held: true) }) == .zero)
    }

    @Test func `time spent waiting for a processor does not count`() {
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, waited: Int($0) * 90) }) == .milliseconds(100))
        #expect(Self.hung((0...10).map { Self.reading($0 * 100, waited: Int($0) * 300) }) == .zero)
        // It computed whenever it had a processor.
        #expect(
            Self.hung((0...10).map { Self.reading($0 * 100, pending: false, computed: Int($0) * 10, waited: Int($0) * 90) })
                == .milliseconds(100)
        )
    }

    /// Seen with ten computing processes on two processors: the kernel adds a wait only when it is over.
    @Test func `a loop that computes but waits for a processor at every poll hangs`() {
        // Each interval has 20 ms of computing; of its waits, 60 ms are known by the next poll only.
        func readings(sleepsPerPoll: UInt64 = 0, isRunnable: Bool = true) -> [HangMeter.Reading] {
            (0...50 as ClosedRange<UInt64>).map { number in
                let late = number % 2 == 0 ? 0 : 60
                let waited = max(0, Int(number) * 80 - late)
                var reading = Self.reading(number * 100, pending: false, computed: Int(number) * 20, waited: waited)
                (reading.sleeps, reading.isRunnable) = (7 + number * sleepsPerPoll, isRunnable)
                return reading
            }
        }
        #expect(Self.hung(readings()) == .seconds(1))
        // lagmond's own stops do not restart the count. It is not known whether the thread slept in those intervals.
        var stopped = readings()
        for index in 25...50 { stopped[index].sleeps = 8 }
        #expect(Self.hung(stopped) >= .milliseconds(980))
        for index in 0...50 {
            let stops = UInt64(index)
            (stopped[index].sleeps, stopped[index].stopsBefore, stopped[index].stopsAfter) = (7 + stops, stops, stops)
        }
        #expect(Self.hung(stopped) == .seconds(1))
        // While work waits, all computing counts, also if the waits are longer than the longest time between two polls.
        #expect(
            Self.hung((0...50).map { Self.reading($0 * 400, computed: Int($0) * 40, waited: Int($0) * 360) }) == .seconds(2)
        )
        // A thread that sleeps again and again computes for a part of the time only.
        #expect(Self.hung(readings(sleepsPerPoll: 3)) < .milliseconds(50))
        #expect(Self.hung(readings(isRunnable: false)) < .milliseconds(50))
    }

    @Test func `time without polls counts as one gap`() {
        #expect(
            Self.hung([Self.reading(0), Self.reading(100), Self.reading(60_000), Self.reading(60_100)]) == .milliseconds(400)
        )
    }

    @Test func `one continuous sleep with work pending at every poll is witnessed by the kernel`() {
        func isWitnessed(_ change: (inout HangMeter.Reading, UInt64) -> Void = { _, _ in }) -> Bool {
            var meter = HangMeter(longestGap: .milliseconds(200))
            for number in 0...10 as ClosedRange<UInt64> {
                var reading = Self.reading(number * 100)
                (reading.sleeps, reading.isWitnessed) = (5, true)
                change(&reading, number)
                meter.add(reading)
            }
            return meter.isWitnessed && meter.hung > .zero
        }
        #expect(isWitnessed())
        #expect(!isWitnessed { $0.sleeps = $1 < 6 ? 5 : 6 })
        #expect(!isWitnessed { if $1 == 6 { $0.isWitnessed = false } })
        // Stops by lagmond itself are no sleeps. None hides a sleep: not one from before, when another thread had the count, nor
        // one that the kernel had counted before lagmond did. A sleeping thread sleeps again after it.
        func isOne(sleeps: UInt64, stops: UInt64, fromPoll stopped: UInt64 = 6) -> Bool {
            isWitnessed {
                let sum = $1 < stopped ? 90 : stops
                ($0.sleeps, $0.stopsBefore, $0.stopsAfter) = ($1 < 6 ? 5 : 5 + sleeps, sum, sum)
            }
        }
        #expect(isOne(sleeps: 1, stops: 91))
        #expect(!isOne(sleeps: 1, stops: 90))
        #expect(!isOne(sleeps: 1, stops: 1))
        #expect(!isOne(sleeps: 2, stops: 91))
        #expect(!isOne(sleeps: 0, stops: 91))
        #expect(!isOne(sleeps: 1, stops: 91, fromPoll: 7))
        #expect(
            !isWitnessed {
                $0.sleeps = $1 < 6 ? 5 : 6
                $0.stopsBefore = $1 < 6 ? 90 : 91
                $0.stopsAfter = $1 < 5 ? 90 : 91
            }
        )
        // It may have woken up under a debugger.
        #expect(
            !isWitnessed {
                if $1 > 5 { $0.sleeps = 6 }
                $0.isStoppedOrTraced = (5...7).contains($1)
            }
        )
        #expect(!isWitnessed { reading, _ in reading.sleeps = nil })
        #expect(!isWitnessed { ($0.isWorkPending, $0.computed) = (false, .milliseconds(Int($1) * 95)) })
        // The count restarted after that.
        #expect(isWitnessed { if $1 == 2 { ($0.isWitnessed, $0.isWorkPending) = (false, false) } })
    }
}
