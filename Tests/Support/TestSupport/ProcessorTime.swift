import Glibc
import LagMonitor

/// What a thread that computes without a pause really got of the processors. On a busy machine a test that needs a processor decides by
/// this, and not by what it meant to do, what a record has to say.
public struct ProcessorTime: Sendable {
    /// When the computing began, of the monotonic clock.
    public let startNanoseconds: UInt64
    public let wallNanoseconds: UInt64
    public let cpuNanoseconds: UInt64
    /// The longest time between two readings of the clock: for so long the thread was off the processor at a stretch.
    public let longestPauseNanoseconds: UInt64

    public init(startNanoseconds: UInt64, wallNanoseconds: UInt64, cpuNanoseconds: UInt64, longestPauseNanoseconds: UInt64) {
        self.startNanoseconds = startNanoseconds
        self.wallNanoseconds = wallNanoseconds
        self.cpuNanoseconds = cpuNanoseconds
        self.longestPauseNanoseconds = longestPauseNanoseconds
    }

    /// `computed START WALL CPU LONGEST`, in nanoseconds: as ForeignProbe prints it.
    public init?(line: String) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "computed", numbers.count == 4 else { return nil }
        self.init(
            startNanoseconds: numbers[0],
            wallNanoseconds: numbers[1],
            cpuNanoseconds: numbers[2],
            longestPauseNanoseconds: numbers[3]
        )
    }

    /// Of what a program prints, the first computing that was not over at that time of the monotonic clock; nil when it ends before.
    public static func next(in lines: LineReader, endingAfter nanoseconds: UInt64) -> ProcessorTime? {
        while let line = lines.next() {
            if let time = ProcessorTime(line: line), time.startNanoseconds + time.wallNanoseconds > nanoseconds { return time }
        }
        return nil
    }

    /// Computes on the calling thread. It never sleeps, so what it did not get of the processor it waited for one.
    public static func compute(milliseconds: Int) -> ProcessorTime {
        let start = MonotonicTime.now.nanoseconds
        let cpu = threadCPUNanoseconds()
        let end = start + UInt64(milliseconds) * 1_000_000
        var (last, longest) = (start, UInt64(0))
        while last < end {
            let now = MonotonicTime.now.nanoseconds
            longest = max(longest, now - last)
            last = now
        }
        return ProcessorTime(
            startNanoseconds: start,
            wallNanoseconds: last - start,
            cpuNanoseconds: threadCPUNanoseconds() - cpu,
            longestPauseNanoseconds: longest
        )
    }

    private static func threadCPUNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// 0…1.
    public var share: Double { wallNanoseconds == 0 ? 1 : Double(cpuNanoseconds) / Double(wallNanoseconds) }

    /// The causes that a record of it may have: `cpu` where the thread had a processor for most of the time, `runqueue` where it waited for
    /// one for most of it. Either where the two are nearly alike, since the stall begins before the computing and ends after it.
    public var causes: [StallRecord.Cause] {
        if share >= 0.6 { return [.cpu] }
        return share <= 0.4 ? [.runqueue] : [.cpu, .runqueue]
    }

    /// Whether a capture that waits for the thread to run gets its answer in any case: the watchdog waits for 50 ms, and needs a processor
    /// as well.
    public var alwaysAnswersInTime: Bool { longestPauseNanoseconds < 25_000_000 }
}
