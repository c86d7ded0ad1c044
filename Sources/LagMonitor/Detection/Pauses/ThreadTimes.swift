internal import CLagLinux
internal import Glibc
internal import LagModel

/// What a thread has received from the scheduler since it exists.
///
/// The first two numbers of `/proc/<pid>/task/<tid>/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
package struct ThreadTimes: Sendable, Equatable {
    /// Time on a processor. For a running thread, up to its last scheduler tick (1 to 10 ms ago).
    package let cpuNanoseconds: UInt64
    /// Time ready to run without a free processor.
    package let runDelayNanoseconds: UInt64

    package static let zero = ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: 0)

    /// Three numbers of 20 digits at most.
    private static let bufferSize = 96

    package init(cpuNanoseconds: UInt64, runDelayNanoseconds: UInt64) {
        self.cpuNanoseconds = cpuNanoseconds
        self.runDelayNanoseconds = runDelayNanoseconds
    }

    /// Reads a thread, by default of this process. About 5 µs; no lock, no allocation.
    /// - Returns: nil if the kernel does not report it, or if the process has no descriptor left.
    init?(tid: Int32, process: Int32 = getpid()) {
        self.init { buffer in
            let length = cll_procfs_schedstat(process, tid, buffer.baseAddress, buffer.count)
            return length > 0 ? length : nil
        }
    }

    /// The same from a file that stays open. About 1 µs.
    init?(_ file: PersistentProcFile) {
        self.init { file.read(into: UnsafeMutableRawBufferPointer($0)) }
    }

    /// - Parameter read: fills the buffer and returns the length.
    private init?(_ read: (UnsafeMutableBufferPointer<CChar>) -> Int?) {
        let times = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.bufferSize) { buffer -> ThreadTimes? in
            guard let length = read(buffer) else { return nil }
            return ThreadTimes(text: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<length]))
        }
        guard let times else { return nil }
        self = times
    }

    init?(text: UnsafeRawBufferPointer) {
        var space = 0
        while space < text.count, text[space] != UInt8(ascii: " ") { space += 1 }
        guard let cpu = KernelFile.number(in: text, at: 0), let delay = KernelFile.number(in: text, at: space + 1)
        else { return nil }
        self.init(cpuNanoseconds: cpu, runDelayNanoseconds: delay)
    }

    /// What has been added since an earlier reading.
    func since(_ earlier: ThreadTimes) -> ThreadTimes {
        ThreadTimes(
            cpuNanoseconds: cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds),
            runDelayNanoseconds: runDelayNanoseconds.saturatingDifference(earlier.runDelayNanoseconds)
        )
    }

    /// How long the thread slept since an earlier reading; `length` is the time since that reading.
    func slept(since earlier: ThreadTimes, in length: UInt64) -> UInt64 {
        let had = since(earlier)
        return length.saturatingDifference(had.cpuNanoseconds.saturatingSum(had.runDelayNanoseconds))
    }
}
