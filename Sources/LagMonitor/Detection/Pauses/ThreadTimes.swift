internal import CLagLinux
internal import Glibc

/// What a thread has had from the scheduler since it exists.
///
/// The first two numbers of `/proc/<pid>/task/<tid>/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
package struct ThreadTimes: Sendable, Equatable {
    /// Time on a processor. Of a thread that runs, up to its last scheduler tick (1 to 10 ms ago).
    package let cpuNanoseconds: UInt64
    /// Time ready to run, and no processor free.
    package let runDelayNanoseconds: UInt64

    package static let zero = ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: 0)

    /// Three numbers of 20 digits at most.
    private static let bufferSize = 96

    package init(cpuNanoseconds: UInt64, runDelayNanoseconds: UInt64) {
        self.cpuNanoseconds = cpuNanoseconds
        self.runDelayNanoseconds = runDelayNanoseconds
    }

    /// Reads a thread, of this process unless said. About 5 µs; no lock, no allocation.
    /// - Returns: nil where the kernel does not say, or the process has no descriptor left.
    init?(tid: Int32, process: Int32 = getpid()) {
        self.init { buffer in
            let length = cll_procfs_schedstat(process, tid, buffer.baseAddress, buffer.count)
            return length > 0 ? length : nil
        }
    }

    /// The same by a file that stays open. About 1 µs.
    init?(_ file: PersistentProcFile) {
        self.init { file.read(into: UnsafeMutableRawBufferPointer($0)) }
    }

    /// - Parameter read: fills the buffer and gives the length.
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

    /// What has come since an earlier reading.
    func since(_ earlier: ThreadTimes) -> ThreadTimes {
        ThreadTimes(
            cpuNanoseconds: cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds),
            runDelayNanoseconds: runDelayNanoseconds.saturatingDifference(earlier.runDelayNanoseconds)
        )
    }

    /// For how long the thread slept since an earlier reading, of which it is so long.
    func slept(since earlier: ThreadTimes, in length: UInt64) -> UInt64 {
        let had = since(earlier)
        return length.saturatingDifference(had.cpuNanoseconds.saturatingSum(had.runDelayNanoseconds))
    }
}
