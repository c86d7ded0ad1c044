/// What a scan of all loops gathers.
struct ScanState {
    private(set) var now: UInt64
    /// One since the last scan.
    let processPause: ProcessPause?
    /// When to scan again.
    var next: UInt64 = .max
    /// The next tick of a loop that waits: it is scanned as well while others work, because it is not armed then.
    var idleNext: UInt64 = .max
    var isBusy = false
    var isStalled = false
    var isSuspicious = false
    var hasRetired = false
    /// The first loop whose thread's work may be read (``mayRead(_:)``).
    private let firstReading: Int
    /// The first one that this scan has had no time for.
    private(set) var firstUnread: Int?
    private var readingNanoseconds: UInt64 = 0
    private var tickInterval: UInt64 = 0
    private var tick: UInt64 = 0

    /// - Parameter firstReading: what the scan before left as ``firstUnread``.
    init(now: UInt64, processPause: ProcessPause?, firstReading: Int = 0) {
        self.now = now
        self.processPause = processPause
        self.firstReading = firstReading
    }

    /// A capture takes its time: what is observed after it is observed then. Not if it took so long that the process may have been
    /// stopped: whether it was is decided after the scan.
    mutating func advanceClock(to time: UInt64) {
        guard time > now, time - now < Watchdog.suspicionPollNanoseconds else { return }
        now = time
        tickInterval = 0
    }

    /// In one scan, so much time goes into reading what threads run that may be in a stall: the other loops wait to be looked at.
    private static let mostReadingNanoseconds: UInt64 = 1_000_000

    /// Whether what a loop's thread runs may be read in this scan. Of many that may be in a stall the next scan goes on where this one's time ended.
    mutating func mayRead(_ index: Int) -> Bool {
        guard index >= firstReading else { return false }
        if readingNanoseconds < Self.mostReadingNanoseconds { return true }
        if firstUnread == nil { firstUnread = index }
        return false
    }

    mutating func addReading(from begun: UInt64, to ended: UInt64) { readingNanoseconds += ended.saturatingDifference(begun) }

    /// The next tick after `now`. Loops mostly have one interval: the division is made once, not for each.
    mutating func nextTick(ofInterval interval: UInt64) -> UInt64 {
        if interval != tickInterval {
            tickInterval = interval
            tick = now.nextTick(ofInterval: interval)
        }
        return tick
    }
}
