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
    private var readings = 0
    private var tickInterval: UInt64 = 0
    private var tick: UInt64 = 0

    init(now: UInt64, processPause: ProcessPause?) {
        self.now = now
        self.processPause = processPause
    }

    /// A capture takes its time: what is observed after it is observed then. Not if it took so long that the process may have been
    /// stopped: whether it was is decided after the scan.
    mutating func advanceClock(to time: UInt64) {
        guard time > now, time - now < Watchdog.suspicionPollNanoseconds else { return }
        now = time
        tickInterval = 0
    }

    /// In one scan, of so many loops that may be in a stall, what their threads run is read: 0.3 ms.
    private static let mostReadings = 64

    /// Whether that of one more is.
    mutating func takeReading() -> Bool {
        readings += 1
        return readings <= Self.mostReadings
    }

    /// The next tick after `now`. Loops mostly have one interval: the division is made once, not for each.
    mutating func nextTick(ofInterval interval: UInt64) -> UInt64 {
        if interval != tickInterval {
            tickInterval = interval
            tick = now.nextTick(ofInterval: interval)
        }
        return tick
    }
}
