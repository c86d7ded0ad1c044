internal import CLibunwind
internal import Glibc

/// How long a thread was ready to run and had no processor, since it exists.
struct RunDelay {
    private let tid: Int32
    private var nanoseconds: UInt64?

    init(tid: Int32) { self.tid = tid }

    /// Notes the present value. About 5 µs; no lock, no allocation.
    mutating func mark() { nanoseconds = Self.read(tid) }

    /// What has come since ``mark()``; 0 where the kernel does not say.
    func sinceMark() -> UInt64 {
        guard let before = nanoseconds, let now = Self.read(tid), now > before else { return 0 }
        return now - before
    }

    /// The second number of `schedstat` (Documentation/scheduler/sched-stats.rst of the kernel).
    static func read(_ tid: Int32) -> UInt64? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 96) { buffer in
            let length = clu_procfs_read(getpid(), tid, "schedstat", buffer.baseAddress!, buffer.count)
            guard length > 0 else { return nil }
            return second(in: UnsafeBufferPointer(rebasing: buffer[..<length]))
        }
    }

    static func second(in text: UnsafeBufferPointer<CChar>) -> UInt64? {
        guard let space = text.firstIndex(of: CChar(UInt8(ascii: " "))) else { return nil }
        var value: UInt64 = 0
        var digits = 0
        for character in text[(space + 1)...] {
            let digit = UInt8(bitPattern: character) &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            value = value &* 10 &+ UInt64(digit)
            digits += 1
        }
        return digits > 0 ? value : nil
    }
}
