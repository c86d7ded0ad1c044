internal import LagDiagnosis

/// What sockets are connected to, asked for while a thread waits for them: when its stall is reported they may be closed.
/// Reporter thread only.
struct SocketNames {
    /// Sockets that are remembered.
    private static let capacity = 64

    private let reader: NetworkTableReader
    private var known: [UInt32: String] = [:]

    /// - Parameter process: whose sockets they are; it may be in another network namespace.
    init(process: Int32) { reader = NetworkTableReader(folder: "/proc/\(process)/net") }

    mutating func resolve(_ inode: UInt32) {
        if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
        known[inode] = reader.socket(inode: UInt64(inode))
    }

    /// - Parameter address: the socket address that the system call was given; what is not connected yet leads there.
    func name(_ inode: UInt32, address: [UInt8]) -> String? {
        if let name = known[inode] ?? reader.socket(inode: UInt64(inode)) { return name }
        return SocketAddress(sockaddr: address)?.text(transport: nil)
    }
}
