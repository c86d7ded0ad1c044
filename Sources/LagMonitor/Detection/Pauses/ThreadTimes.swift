internal import CLibunwind
internal import Glibc

/// What a thread has had from the scheduler since it exists.
///
/// The first two numbers of `/proc/<pid>/task/<tid>/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
package struct ThreadTimes: Sendable, Equatable {
    /// Time on a processor.
    package let cpuNanoseconds: UInt64
    /// Time ready to run, and no processor free.
    package let runDelayNanoseconds: UInt64

    package init(cpuNanoseconds: UInt64, runDelayNanoseconds: UInt64) {
        self.cpuNanoseconds = cpuNanoseconds
        self.runDelayNanoseconds = runDelayNanoseconds
    }

    /// Reads a thread of this process. About 5 µs; no lock, no allocation.
    /// - Returns: nil where the kernel does not say, or the process has no descriptor left.
    init?(tid: Int32) {
        let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 96) { buffer -> ThreadTimes? in
            let length = clu_procfs_read(getpid(), tid, "schedstat", buffer.baseAddress!, buffer.count)
            guard length > 0 else { return nil }
            return ThreadTimes(text: UnsafeBufferPointer(rebasing: buffer[..<length]))
        }
        guard let text else { return nil }
        self = text
    }

    init?(text: UnsafeBufferPointer<CChar>) {
        var rest = text[...]
        guard let cpu = Self.number(&rest), let delay = Self.number(&rest) else { return nil }
        self.init(cpuNanoseconds: cpu, runDelayNanoseconds: delay)
    }

    /// What has come since an earlier reading.
    func since(_ earlier: ThreadTimes) -> ThreadTimes {
        ThreadTimes(
            cpuNanoseconds: cpuNanoseconds.saturatingDifference(earlier.cpuNanoseconds),
            runDelayNanoseconds: runDelayNanoseconds.saturatingDifference(earlier.runDelayNanoseconds)
        )
    }

    private static func number(_ text: inout Slice<UnsafeBufferPointer<CChar>>) -> UInt64? {
        while text.first == CChar(UInt8(ascii: " ")) { text.removeFirst() }
        var value: UInt64 = 0
        var digits = 0
        while let character = text.first {
            let digit = UInt8(bitPattern: character) &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            value = value &* 10 &+ UInt64(digit)
            digits += 1
            text.removeFirst()
        }
        return digits > 0 ? value : nil
    }
}
