internal import Glibc

/// Looks up a socket in the kernel's tables. **For the reporter thread only**: it opens files, and the kernel takes locks of its
/// network while it writes the tables.
///
/// Bounded: at most ``maximumTableBytes`` of each table are read. Nothing is kept.
package struct NetworkTableReader: Sendable {
    /// Some 27,000 sockets; this limits the reporter's cost on a busier host.
    package static let maximumTableBytes = 4 << 20
    private static let bytesARead = 1 << 15

    private let folder: String

    /// - Parameter folder: the folder of the tables; by default those of this process's network namespace.
    package init(folder: String = "/proc/self/net") { self.folder = folder }

    /// The name of the socket with `inode`, from ``NetworkNames``; nil if no table has it or none can be read.
    package func socket(inode: UInt64) -> String? {
        for table in NetworkNames.Table.allCases {
            if let name = search(table, for: inode) { return name }
        }
        return nil
    }

    private func search(_ table: NetworkNames.Table, for inode: UInt64) -> String? {
        let descriptor = open("\(folder)/\(table.rawValue)", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: Self.bytesARead)
        /// The start of a line that the last piece did not end.
        var begun: [UInt8] = []
        var total = 0
        while total < Self.maximumTableBytes {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            total += count
            var rest = piece[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                begun.append(contentsOf: rest[..<end])
                if let name = NetworkNames.socket(inode: inode, in: table, line: begun[...]) { return name }
                begun.removeAll(keepingCapacity: true)
                rest = rest[(end + 1)...]
            }
            begun.append(contentsOf: rest)
        }
        return NetworkNames.socket(inode: inode, in: table, line: begun[...])
    }
}
