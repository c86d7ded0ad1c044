/// What sockets are connected to, asked for while a thread waits for them: when its stall is told they may be closed.
/// Reporter thread only.
struct SocketNames {
    /// Sockets that are remembered.
    private static let capacity = 64

    private var known: [UInt32: String] = [:]

    /// Looks a socket up now.
    mutating func note(_ inode: UInt32) {
        if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
        if let name = Self.look(inode) { known[inode] = name }
    }

    /// - Parameter address: the socket address that the system call was given, if any.
    func name(_ inode: UInt32, address: [UInt8]) -> String? { known[inode] ?? Self.look(inode) }

    private static func look(_ inode: UInt32) -> String? { nil }
}
