internal import Glibc

/// What the kernel's files and folders say. Allocates: for threads that may wait, not for the watchdog's.
package enum ProcFile {
    /// The first `limit` bytes at most. Some µs; any thread.
    /// - Returns: nil where the file cannot be opened, or where reading fails, as of a process that has ended.
    package static func text(at path: String, limit: Int) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let got = read(descriptor, buffer.baseAddress! + count, limit - count)
                if got < 0, errno == EINTR { continue }
                failed = got < 0
                guard got > 0 else { break }
                count += got
            }
        }
        return failed ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// The entries of a folder that are numbers: processes of `/proc`, threads of `/proc/PID/task`; the first `limit` of them at most. Any thread.
    /// - Returns: none where the folder cannot be opened.
    package static func numbers(in folder: String, limit: Int = .max) -> [Int32] {
        guard let folder = opendir(folder) else { return [] }
        defer { closedir(folder) }
        var numbers: [Int32] = []
        while numbers.count < limit, let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }
}
