import Testing

@testable import LagMonitorConcurrency

struct WorkerSearchScheduleTests {
    private static let naming = WorkerSearchSchedule.namingNanoseconds
    /// The time of the last poll of ``schedule()``.
    private static let start = 1020 + naming

    private func schedule() -> WorkerSearchSchedule {
        var schedule = WorkerSearchSchedule(at: 1000)
        // Threads that exist already.
        #expect(schedule.search(threads: 4, hasEnded: false, at: 1010, last: 1000) == 1000)
        #expect(schedule.search(threads: 4, hasEnded: false, at: Self.start, last: Self.start - 10) == 1010)
        return schedule
    }

    @Test func `no search is needed while no thread is created or exits`() {
        var schedule = schedule()
        #expect(!schedule.isExpecting)
        #expect(schedule.search(threads: 4, hasEnded: false, at: Self.start + 10, last: Self.start) == nil)
    }

    /// A thread sets its name, by which it is found, when it first runs.
    @Test func `a new thread is searched for until it has its name`() {
        var schedule = schedule()
        let made = Self.start + 50
        #expect(schedule.search(threads: 5, hasEnded: false, at: made, last: made - 10) == made - 10)
        // Another thread was found by the search: another search is requested at once.
        #expect(schedule.search(threads: 5, hasEnded: false, at: made + 2, last: made) == made)
        #expect(schedule.isExpecting)
        // Found now, it had not run at the search before.
        #expect(schedule.search(threads: 5, hasEnded: false, at: made + 50, last: made + 40) == made + 2)
        #expect(schedule.search(threads: 5, hasEnded: false, at: made + Self.naming, last: made + 90) == made + 50)
        #expect(!schedule.isExpecting)
        #expect(schedule.search(threads: 5, hasEnded: false, at: made + Self.naming + 50, last: made + Self.naming) == nil)
    }

    @Test func `threads created one after the other are each searched for again`() {
        var schedule = schedule()
        let made = Self.start + 50
        #expect(schedule.search(threads: 5, hasEnded: false, at: made, last: made - 10) == made - 10)
        // The first may be among those found.
        #expect(schedule.search(threads: 6, hasEnded: false, at: made + Self.naming, last: made + 90) == made)
        #expect(schedule.isExpecting)
        #expect(
            schedule.search(threads: 6, hasEnded: false, at: made + 2 * Self.naming, last: made + Self.naming + 10) == made
                + Self.naming
        )
        #expect(!schedule.isExpecting)
    }

    @Test func `a thread that replaced another is found within a second or once the other is known gone`() {
        var schedule = schedule()
        let next = Self.start + 1_000_000_000
        #expect(schedule.search(threads: 4, hasEnded: false, at: next - 1, last: next - 10) == nil)
        // It was created at any time since the last search.
        #expect(schedule.search(threads: 4, hasEnded: false, at: next, last: next - 10) == Self.start)
        #expect(schedule.search(threads: 4, hasEnded: true, at: next + 10, last: next + 5) == next + 5)
    }
}
