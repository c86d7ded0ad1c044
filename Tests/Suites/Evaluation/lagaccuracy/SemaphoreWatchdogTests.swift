import LagMonitor
import LagWorkload
import Testing

@testable import lagaccuracy

struct SemaphoreWatchdogRuleTests {
    @Test func `the third timeout in a row reports and a hang is reported again and again`() {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: false)
        let reports = (1...9).filter { _ in rule.waitEnded(timedOut: true, activity: .afterWaiting) }
        #expect(reports == [3, 6, 9])
    }

    @Test func `a signal starts the count again`() {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: false)
        for timedOut in [true, true, false, true, true] {
            let reported = rule.waitEnded(timedOut: timedOut, activity: .beforeSources)
            #expect(!reported)
        }
    }

    @Test(arguments: [false, true])
    func `only the variant takes an idle loop for a stall`(countsBeforeWaiting: Bool) {
        var rule = SemaphoreWatchdogRule(countsBeforeWaiting: countsBeforeWaiting)
        let reports = (1...3).filter { _ in rule.waitEnded(timedOut: true, activity: .beforeWaiting) }
        #expect(reports.isEmpty == !countsBeforeWaiting)
    }
}

/// A wait that follows the wall clock does what the wall clock does.
@Suite(.serialized) struct RealtimeSemaphoreTests {
    private static let minute: Int64 = 60_000_000_000

    /// Waits `milliseconds` on a semaphore to which `happens` happens meanwhile, from another thread.
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

    @Test func `a step forward ends it as a timeout`() throws {
        let (posted, length) = try wait(milliseconds: 60_000) { semaphore in
            // One of them comes after the wait has begun, however busy the machine is.
            for _ in 1...20 {
                sleepUntil(.now + .milliseconds(50))
                semaphore.step(byNanoseconds: 2 * Self.minute)
            }
        }
        #expect(!posted)
        #expect(length < .seconds(50))
    }

    @Test func `a step back makes it last until the post`() throws {
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
    func `without a step it is an ordinary timed wait`(isFaked: Bool) {
        let semaphore = RealtimeSemaphore(isFaked: isFaked)
        let begin = MonotonicTime.now
        #expect(!semaphore.wait(nanoseconds: 30_000_000))
        #expect(MonotonicTime.now - begin >= .milliseconds(29))
        semaphore.post()
        #expect(semaphore.wait(nanoseconds: 10_000_000_000))
    }

    @Test func `a step is no post`() {
        let semaphore = RealtimeSemaphore(isFaked: true)
        semaphore.step(byNanoseconds: -Self.minute)
        #expect(!semaphore.wait(nanoseconds: 20_000_000))
        semaphore.post()
        #expect(semaphore.wait(nanoseconds: 10_000_000_000))
    }
}
