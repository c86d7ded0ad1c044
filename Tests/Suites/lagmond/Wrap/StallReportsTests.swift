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

    @Test func `however many signals ask there is one thread`() {
        let thread = Thread()
        let count = Mutex(0)
        let reports = StallReports(start: thread.start) { count.withLock { $0 += 1 } }
        for _ in 0..<100 { reports.request() }
        #expect(thread.count == 1)
        thread.run()
        #expect(count.withLock { $0 } == 2, "what asked since it began has one more")
        reports.request()
        #expect(thread.count == 1)
        thread.run()
        #expect(count.withLock { $0 } == 3)
    }

    @Test func `a thread that the system refuses is asked for again`() {
        struct Refusal: Error {}
        let count = Mutex(0)
        let reports = StallReports { _ in
            count.withLock { $0 += 1 }
            throw Refusal()
        } report: {
        }
        reports.request()
        reports.request()
        #expect(count.withLock { $0 } == 2)
    }
}
