internal import Glibc
internal import LagModel

/// Small text files of the kernel (`/proc`, `/sys/fs/cgroup`), and the numbers in them.
///
/// The loops are written out, here and in the callers: `for`, `firstIndex` and a string literal passed to C allocate in an
/// unoptimised build.
enum KernelFile {
    /// How much of a file a reading sees. Not more: above 1,024 bytes `withUnsafeTemporaryAllocation` may use the heap.
    static let bufferSize = 1_024

    /// Passes the first ``bufferSize`` bytes of a file to `body`.
    ///
    /// Any thread; no lock, no allocation. About 5 µs.
    /// - Parameter path: a C string.
    /// - Returns: what `body` returns; nil if the file cannot be read.
    static func withText<Result>(at path: [CChar], _ body: (UnsafeRawBufferPointer) -> Result?) -> Result? {
        withUnsafeTemporaryAllocation(byteCount: bufferSize, alignment: 1) { buffer in
            let descriptor = path.withUnsafeBufferPointer { open($0.baseAddress!, O_RDONLY | O_CLOEXEC) }
            guard descriptor >= 0 else { return nil }
            let length = fill(buffer, from: descriptor)
            close(descriptor)
            guard let length else { return nil }
            return body(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
        }
    }

    /// The number on the line that begins with `name` and a space: the format of `cpu.stat` and its like
    /// ("flat keyed", Documentation/admin-guide/cgroup-v2.rst).
    static func number(named name: StaticString, in text: UnsafeRawBufferPointer) -> UInt64? {
        lineStart(after: name, separator: UInt8(ascii: " "), in: text).flatMap { number(in: text, at: $0) }
    }

    /// The position after `name` and the separator, at the beginning of a line.
    static func lineStart(after name: StaticString, separator: UInt8, in text: UnsafeRawBufferPointer) -> Int? {
        let key = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var start = 0
        while start + key.count < text.count {
            let end = start + key.count
            if text[end] == separator, memcmp(text.baseAddress! + start, key.baseAddress!, key.count) == 0 { return end + 1 }
            while start < text.count, text[start] != UInt8(ascii: "\n") { start += 1 }
            start += 1
        }
        return nil
    }

    /// The decimal number that begins at `start`; nil if there is no digit, or if it does not fit.
    static func number(in text: UnsafeRawBufferPointer, at start: Int) -> UInt64? {
        var value: UInt64 = 0
        var index = start
        while index < text.count {
            guard text[index] &- UInt8(ascii: "0") < 10 else { break }
            guard let longer = Decimal.append(text[index], to: value) else { return nil }
            value = longer
            index += 1
        }
        return index > start ? value : nil
    }

    /// Reads until the buffer is full or the file ends; nil on an error.
    private static func fill(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32) -> Int? {
        var length = 0
        while length < buffer.count {
            let got = read(descriptor, buffer.baseAddress! + length, buffer.count - length)
            if got < 0, errno == EINTR { continue }
            if got < 0 { return nil }
            if got == 0 { break }
            length += got
        }
        return length
    }
}
