internal import Glibc
internal import LagModel

/// Reads how long a hypervisor used this machine's processors for something else: `steal` in the first line of `/proc/stat`
/// (proc_pid_stat(5) calls it stolen time), all processors together.
///
/// A thread waits for a processor that the hypervisor has just as for one that another thread has, but no file shows for how
/// long. The watchdog reads this if a wait ended late. The kernel writes the whole file for it: 20 µs and more, depending on the
/// number of processors.
struct StealMeter {
    /// The kernel counts in hundredths of a second on every architecture visible to programs (`USER_HZ`).
    static let tickNanoseconds: UInt64 = 10_000_000

    private let file = PersistentProcFile(path: "/proc/stat")

    /// Since the machine started; 0 if it is not virtual, or if the kernel does not report it.
    func read() -> UInt64 {
        withUnsafeTemporaryAllocation(byteCount: KernelFile.bufferSize, alignment: 1) { buffer in
            guard let length = file.read(into: buffer) else { return 0 }
            return Self.nanoseconds(in: UnsafeRawBufferPointer(rebasing: buffer[..<length])) ?? 0
        }
    }

    /// The eighth number after `cpu`.
    static func nanoseconds(in text: UnsafeRawBufferPointer) -> UInt64? {
        guard var place = KernelFile.lineStart(after: "cpu", separator: UInt8(ascii: " "), in: text) else { return nil }
        var number = 0
        while true {
            while place < text.count, text[place] == UInt8(ascii: " ") { place += 1 }
            number += 1
            if number == 8 { return KernelFile.number(in: text, at: place).map { $0.saturatingProduct(tickNanoseconds) } }
            while place < text.count, text[place] != UInt8(ascii: " ") {
                if text[place] == UInt8(ascii: "\n") { return nil }
                place += 1
            }
            guard place < text.count else { return nil }
        }
    }
}
