internal import LagMonitor
import Synchronization
internal import Testing

@testable internal import lagmond

struct StallReportsTests {
    private final class Thread: Sendable {
        private let bodies = Mutex<[@Sendable () -> Void]>([])

        func start(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }
        var count: Int { bodies.withLock { $0.count } }
        func run() { bodies.withLock { $0.removeFirst() }() }
    }

    private static func second(_ number: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: number * 1_000_000_000) }

    /// However late the thread runs, work that began after the signal is a result of the signal.
    @Test func `many signals are reported by one thread, each with its time`() {
        let thread = Thread()
        let asked = Mutex<[MonotonicTime]>([])
        let reports = StallReports(start: thread.start) { time in asked.withLock { $0.append(time) } }
        for number: UInt64 in 1...100 { reports.request(endingAt: Self.second(number)) }
        #expect(thread.count == 1)
        thread.run()
        let skew = Duration.milliseconds(-20)
        // Requests made after the thread started are served by one more report.
        #expect(asked.withLock { $0 } == [Self.second(1) + skew, Self.second(100) + skew])
        reports.request(endingAt: Self.second(101))
        #expect(thread.count == 1)
        thread.run()
        #expect(asked.withLock { $0 }.count == 3)
    }

    @Test func `a thread that could not be created is requested again`() {
        struct Refusal: Error {}
        let count = Mutex(0)
        let reports = StallReports { _ in
            count.withLock { $0 += 1 }
            throw Refusal()
        } report: { _ in
        }
        reports.request(endingAt: Self.second(1))
        reports.request(endingAt: Self.second(2))
        #expect(count.withLock { $0 } == 2)
    }
}
