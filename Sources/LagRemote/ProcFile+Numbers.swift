internal import Glibc
package import LagModel

extension ProcFile {
    /// The numeric entries of a folder: processes of `/proc`, threads of `/proc/PID/task`; at most the first `limit`.
    /// Any thread.
    /// - Returns: empty if the folder cannot be opened.
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
