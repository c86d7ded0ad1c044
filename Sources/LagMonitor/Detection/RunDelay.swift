internal import Glibc

/// How long a thread was ready to run and had no processor, and for how long it had one.
///
/// The file stays open, so that a process which has run out of descriptors can still be judged. One thread at a time.
struct RunDelay {
    /// The first two numbers of `schedstat`, in nanoseconds (Documentation/scheduler/sched-stats.rst of the kernel).
    struct Times: Equatable {
        /// On a processor. Of a thread that runs, up to its last scheduler tick (1 to 10 ms ago).
        var cpuNanoseconds: UInt64
        /// Ready to run, without a processor.
        var delayNanoseconds: UInt64
    }

    private let file: KeptProcFile
    private var marked: Times?

    /// - Parameter tid: a thread of this process.
    init(tid: Int32) { file = KeptProcFile(path: "/proc/self/task/\(tid)/schedstat") }

    /// Notes the present values. About 1 µs, the first time 5 µs; no lock, no allocation.
    mutating func mark() { marked = Self.read(file) }

    /// The delay that has come since ``mark()``; 0 where the kernel does not say.
    func sinceMark() -> UInt64 { timesSinceMark.delayNanoseconds }

    /// The time on a processor since ``mark()``; 0 where the kernel does not say.
    var cpuSinceMark: UInt64 { timesSinceMark.cpuNanoseconds }

    /// Both at once, for one reading.
    var timesSinceMark: Times {
        var growth = Times(cpuNanoseconds: 0, delayNanoseconds: 0)
        guard let before = marked, let now = Self.read(file) else { return growth }
        if now.cpuNanoseconds > before.cpuNanoseconds { growth.cpuNanoseconds = now.cpuNanoseconds - before.cpuNanoseconds }
        if now.delayNanoseconds > before.delayNanoseconds {
            growth.delayNanoseconds = now.delayNanoseconds - before.delayNanoseconds
        }
        return growth
    }

    /// The delay of a thread of this process up to now; opens the file for this one reading.
    static func read(_ tid: Int32) -> UInt64? {
        read(KeptProcFile(path: "/proc/self/task/\(tid)/schedstat"))?.delayNanoseconds
    }

    /// Three numbers of 20 digits at most.
    private static let bufferSize = 96

    private static func read(_ file: KeptProcFile) -> Times? {
        withUnsafeTemporaryAllocation(byteCount: bufferSize, alignment: 1) { buffer in
            guard let length = file.read(into: buffer) else { return nil }
            return times(in: UnsafeRawBufferPointer(rebasing: buffer[..<length]))
        }
    }

    static func times(in text: UnsafeRawBufferPointer) -> Times? {
        var space = 0
        while space < text.count, text[space] != UInt8(ascii: " ") { space += 1 }
        guard let cpu = KernelFile.number(in: text, at: 0), let delay = KernelFile.number(in: text, at: space + 1)
        else { return nil }
        return Times(cpuNanoseconds: cpu, delayNanoseconds: delay)
    }
}
