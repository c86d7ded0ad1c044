internal import LagDiagnosis

/// What sockets are connected to. It is looked up while a thread waits for them, because they may be closed when the stall is
/// reported. Reporter thread only.
struct SocketNames {
    /// Sockets that are remembered.
    private static let capacity = 64

    private let reader: NetworkTableReader
    private var known: [UInt32: String] = [:]

    /// - Parameter process: the owner of the sockets; it may be in another network namespace.
    init(process: Int32) { reader = NetworkTableReader(folder: "/proc/\(process)/net") }

    mutating func resolve(_ inode: UInt32) {
        if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
        known[inode] = reader.socket(inode: UInt64(inode))
    }

    /// - Parameter address: the socket address that was passed to the system call; it is used for a socket that is not connected
    ///   yet.
    func name(_ inode: UInt32, address: [UInt8]) -> String? {
        if let name = known[inode] ?? reader.socket(inode: UInt64(inode)) { return name }
        return SocketAddress(sockaddr: address)?.text(transport: nil)
    }
}
