import LagMonitor
import LagWorkload
import Testing

@testable import lagaccuracy

struct SemaphoreWatchdogRuleTests {
    @Test func `every third consecutive timeout is reported, repeatedly during a hang`() {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: false)
        let reports = (1...9).filter { _ in rule.waitEnded(timedOut: true, activity: .afterWaiting) }
        #expect(reports == [3, 6, 9])
    }

    @Test func `a signal restarts the count`() {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: false)
        for timedOut in [true, true, false, true, true] {
            let reported = rule.waitEnded(timedOut: timedOut, activity: .beforeSources)
            #expect(!reported)
        }
    }

    @Test(arguments: [false, true])
    func `only the before-waiting variant reports an idle loop as a stall`(countsBeforeWaiting: Bool) {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: countsBeforeWaiting)
        let reports = (1...3).filter { _ in rule.waitEnded(timedOut: true, activity: .beforeWaiting) }
        #expect(reports.isEmpty == !countsBeforeWaiting)
    }
}

/// A wait on the realtime clock follows clock steps.
@Suite(.serialized) struct RealtimeSemaphoreTests {
    private static let minute: Int64 = 60_000_000_000

    /// Waits `milliseconds` on a semaphore while another thread runs `happens`.
    private func wait(
        milliseconds: Int64,
        _ happens: @escaping @Sendable (RealtimeSemaphore) -> Void
    ) throws -> (posted: Bool, length: Duration) {
        let semaphore = RealtimeSemaphore(isFaked: true)
        let begin = MonotonicTime.now
        try WorkloadThread.start { happens(semaphore) }
        let posted = semaphore.wait(nanoseconds: milliseconds * 1_000_000)
        return (posted, MonotonicTime.now - begin)
    }

    @Test func `a clock step forward ends the wait as a timeout`() throws {
        let (posted, length) = try wait(milliseconds: 60_000) { semaphore in
            // At least one step is after the wait has begun, however busy the machine is.
            for _ in 1...20 {
                sleepUntil(.now + .milliseconds(50))
                semaphore.step(byNanoseconds: 2 * Self.minute)
            }
        }
        #expect(!posted)
        #expect(length < .seconds(50))
    }

    @Test func `a clock step back extends the wait until the post`() throws {
        let (posted, length) = try wait(milliseconds: 500) { semaphore in
            sleepUntil(.now + .milliseconds(100))
            semaphore.step(byNanoseconds: -2 * Self.minute)
            sleepUntil(.now + .milliseconds(700))
            semaphore.post()
        }
        #expect(posted)
        #expect(length >= .milliseconds(700))
    }

    @Test(arguments: [false, true])
    func `without a clock step the wait is an ordinary timed wait`(isFaked: Bool) {
        let semaphore = RealtimeSemaphore(isFaked: isFaked)
        let begin = MonotonicTime.now
        #expect(!semaphore.wait(nanoseconds: 30_000_000))
        #expect(MonotonicTime.now - begin >= .milliseconds(29))
        semaphore.post()
        #expect(semaphore.wait(nanoseconds: 10_000_000_000))
    }

    @Test func `a clock step does not post`() {
        let semaphore = RealtimeSemaphore(isFaked: true)
        semaphore.step(byNanoseconds: -Self.minute)
        #expect(!semaphore.wait(nanoseconds: 20_000_000))
        semaphore.post()
        #expect(semaphore.wait(nanoseconds: 10_000_000_000))
    }
}
