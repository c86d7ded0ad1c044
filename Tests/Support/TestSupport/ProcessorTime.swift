import Glibc
import LagMonitor

/// The real processor time of a thread that computes without a pause. On a busy machine, a test that needs a processor decides by
/// this, not by the intended time, what a record must report.
public struct ProcessorTime: Sendable {
    /// When the computation began, in the monotonic clock.
    public let startNanoseconds: UInt64
    public let wallNanoseconds: UInt64
    public let cpuNanoseconds: UInt64
    /// The longest time between two readings of the clock: that long the thread was off the processor.
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

    /// The first computation in a program's output that had not ended at that time of the monotonic clock; nil if the output ends
    /// before.
    public static func next(in lines: LineReader, endingAfter nanoseconds: UInt64) -> ProcessorTime? {
        while let line = lines.next() {
            if let time = ProcessorTime(line: line), time.startNanoseconds + time.wallNanoseconds > nanoseconds { return time }
        }
        return nil
    }

    /// Computes on the calling thread. It never sleeps, so it waited for a processor in the remaining time.
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

    /// The possible causes in a record of it: `cpu` if the thread had a processor for most of the time, `runqueue` if it waited
    /// for one for most of it. Either if the two are nearly equal, since the stall begins before the computation and ends after
    /// it.
    public var causes: [StallRecord.Cause] {
        if share >= 0.6 { return [.cpu] }
        return share <= 0.4 ? [.runqueue] : [.cpu, .runqueue]
    }

    /// Whether a capture that waits for the thread to run certainly gets its answer: the watchdog waits for 50 ms, and needs a
    /// processor too.
    public var alwaysAnswersInTime: Bool { longestPauseNanoseconds < 25_000_000 }
}
