internal import LagModel

/// What a scan of all loops collects.
struct ScanState {
    private(set) var now: UInt64
    /// One since the last scan.
    let processPause: ProcessPause?
    /// When to scan again.
    var nextNanoseconds: UInt64 = .max
    /// The next tick of a loop that waits: it is also scanned while others work, because it is not armed then.
    var idleNextNanoseconds: UInt64 = .max
    var isBusy = false
    var isStalled = false
    var isSuspicious = false
    var hasRetired = false
    /// The first loop whose thread's work may be read (``mayRead(_:)``).
    private let firstReading: Int
    /// The first loop for which this scan had no time.
    private(set) var firstUnread: Int?
    private var readingNanoseconds: UInt64 = 0
    private var tickIntervalNanoseconds: UInt64 = 0
    private var tick: UInt64 = 0

    /// - Parameter firstReading: the ``firstUnread`` of the scan before.
    init(now: UInt64, processPause: ProcessPause?, firstReading: Int = 0) {
        self.now = now
        self.processPause = processPause
        self.firstReading = firstReading
    }

    /// A capture takes time: what is observed after it has the later time. Not if it took so long that the process may have been
    /// stopped: that is decided after the scan.
    mutating func advanceClock(to time: UInt64) {
        guard time > now, time - now < Watchdog.suspicionPollNanoseconds else { return }
        now = time
        tickIntervalNanoseconds = 0
    }

    /// The limit, in one scan, for reading the work of threads that may be in a stall: the other loops have to be visited.
    private static let mostReadingNanoseconds: UInt64 = 1_000_000

    /// Whether the work of a loop's thread may be read in this scan. If many loops may be in a stall, the next scan continues
    /// where this one's time ended.
    mutating func mayRead(_ index: Int) -> Bool {
        guard index >= firstReading else { return false }
        if readingNanoseconds < Self.mostReadingNanoseconds { return true }
        if firstUnread == nil { firstUnread = index }
        return false
    }

    mutating func addReading(from begun: UInt64, to ended: UInt64) { readingNanoseconds += ended.saturatingDifference(begun) }

    /// The next tick after `now`. Most loops have the same interval: the division is done once, not for each.
    mutating func nextTick(ofInterval interval: UInt64) -> UInt64 {
        if interval != tickIntervalNanoseconds {
            tickIntervalNanoseconds = interval
            tick = now.nextTick(ofInterval: interval)
        }
        return tick
    }
}
