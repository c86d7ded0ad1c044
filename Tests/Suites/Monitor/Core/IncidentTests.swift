import LagModel
import LagOutput
import Testing

@testable import LagMonitor

/// Stalls that one thread or one lock causes at the same time share an incident ID.
@Suite struct IncidentTests {
    private var tracker = IncidentTracker()

    /// - Parameters:
    ///  - milliseconds: the beginning and the end.
    ///   - lock: its address and the threads that hold it, each waiting for the next.
    private static func stall(
        _ thread: Int32,
        _ milliseconds: Range<UInt64>,
        lock: (address: UInt64, owners: [Int32])? = nil
    ) -> StallRecord {
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: 1, randomHigh: UInt64(thread), randomLow: milliseconds.lowerBound),
            startRealtimeNanoseconds: 1,
            startMonotonicNanoseconds: milliseconds.lowerBound * 1_000_000,
            durationNanoseconds: UInt64(milliseconds.count) * 1_000_000,
            thresholdNanoseconds: 150_000_000,
            phase: .end,
            kind: .callout,
            loop: "loop \(thread)",
            threadID: thread
        )
        guard let lock else { return record }
        record.cause = .lock
        record.evidence.lockAddress = lock.address
        let owners = lock.owners.map { StallRecord.LockOwner(threadID: $0) }
        record.evidence.lockOwner = owners.first
        record.evidence.lockChain = Array(owners.dropFirst())
        return record
    }

    @Test mutating func `all threads that wait for one lock share an incident`() {
        let stalls = (1...4).map { Self.stall($0, 0..<300, lock: (0x1000, [9])) }
        let incidents = stalls.map { tracker.incident(of: $0) }
        #expect(incidents == Array(repeating: stalls[0].id, count: 4))
    }

    @Test mutating func `a lock without a known owner puts its waiters into one incident`() {
        let first = Self.stall(1, 0..<300, lock: (0x1000, []))
        let second = Self.stall(2, 10..<320, lock: (0x1000, []))
        let other = Self.stall(3, 10..<320, lock: (0x2000, []))
        #expect(tracker.incident(of: first) == first.id)
        #expect(tracker.incident(of: second) == first.id)
        #expect(tracker.incident(of: other) == other.id)
    }

    /// The loop that sleeps while it holds the lock may be reported first or last.
    @Test(arguments: [true, false])
    mutating func `the stall of the thread that holds the lock joins its waiters in one incident`(isFirst: Bool) {
        let holder = Self.stall(9, 0..<300)
        let waiting = Self.stall(1, 5..<300, lock: (0x1000, [9]))
        let stalls = isFirst ? [holder, waiting] : [waiting, holder]
        let incidents = stalls.map { tracker.incident(of: $0) ?? $0.id }
        #expect(incidents == [stalls[0].id, stalls[0].id])
    }

    @Test mutating func `the waiters of a chain of locks share an incident`() {
        let far = Self.stall(1, 0..<300, lock: (0x1000, [2, 3]))
        let near = Self.stall(2, 0..<300, lock: (0x2000, [3]))
        #expect(tracker.incident(of: far) == far.id)
        #expect(tracker.incident(of: near) == far.id)
    }

    @Test mutating func `a stall on its own has no incident ID`() {
        #expect(tracker.incident(of: Self.stall(1, 0..<300)) == nil)
        #expect(tracker.incident(of: Self.stall(1, 300..<600)) == nil, "one after the other is not at the same time")
        #expect(tracker.incident(of: Self.stall(2, 0..<300)) == nil)
    }

    @Test mutating func `waiting for the same lock later is another incident`() {
        let now = Self.stall(1, 0..<300, lock: (0x1000, [9]))
        let later = Self.stall(2, 300..<700, lock: (0x1000, [9]))
        #expect(tracker.incident(of: now) == now.id)
        #expect(tracker.incident(of: later) == later.id)
    }

    /// Its owner may be known in one line and not in the other.
    @Test mutating func `the begin and end lines of a stall have the same incident`() {
        let first = Self.stall(1, 0..<300, lock: (0x1000, [9]))
        var begin = Self.stall(2, 0..<200, lock: (0x2000, [9]))
        begin.phase = .begin
        let end = Self.stall(2, 0..<600, lock: (0x3000, []))
        #expect(tracker.incident(of: first) == first.id)
        #expect(tracker.incident(of: begin) == first.id)
        #expect(tracker.incident(of: end) == first.id)
    }

    @Test mutating func `a hang is one incident for its whole duration`() {
        var begin = Self.stall(9, 0..<200)
        begin.phase = .begin
        let waiting = Self.stall(1, 3000..<3500, lock: (0x1000, [9]))
        #expect(tracker.incident(of: begin) == nil)
        #expect(tracker.incident(of: waiting) == begin.id)
        var end = Self.stall(9, 0..<5000)
        end.id = begin.id
        #expect(tracker.incident(of: end) == nil, "it is the first stall of the incident")
        #expect(tracker.incident(of: Self.stall(9, 6000..<6500)) == nil, "the incident is over")
    }

    @Test mutating func `unknown threads and locks that are not waited for join no incident`() {
        #expect(tracker.incident(of: Self.stall(0, 0..<300)) == nil)
        #expect(tracker.incident(of: Self.stall(0, 0..<300)) == nil)
        var computing = Self.stall(1, 0..<300, lock: (0x1000, [9]))
        computing.cause = .cpu
        #expect(tracker.incident(of: computing) == nil)
        #expect(tracker.incident(of: Self.stall(9, 0..<300)) == nil)
    }

    @Test mutating func `the number of tracked incidents is bounded`() {
        for thread in 1...Int32(IncidentTracker.limit * 4) {
            let start = UInt64(thread) * 1000
            _ = tracker.incident(of: Self.stall(thread, start..<start + 300, lock: (UInt64(thread) << 12, [])))
        }
        #expect(tracker.count <= IncidentTracker.limit)
    }

    @Test mutating func `an endless incident keeps no stall that is over`() {
        for start in UInt64(0)..<1000 {
            _ = tracker.incident(of: Self.stall(1, start * 100..<start * 100 + 200, lock: (0x1000, [9])))
        }
        #expect(tracker.count == 1 && tracker.holderCount == 2)
    }
}
