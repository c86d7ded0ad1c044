internal import LagDiagnosis

/// The kernel's tables of sockets, as `/proc/net` has them.
final class NetworkTableTarget: FuzzTarget {
    static let name = "net"
    private let surroundings: FuzzSurroundings
    let seeds = [
        """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 100 0 0 10 0

        """,
        """
        Num       RefCount Protocol Flags    Type St Inode Path
        0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/x.sock

        """,
    ].map { Array($0.utf8) }
    let tokens = ["12345", ":", " ", "\n", "0000000000000000FFFF00000100007F:1F90", "FFFFFFFF:FFFFF", "@", "/"]

    init(_ surroundings: FuzzSurroundings) { self.surroundings = surroundings }

    func read(_ input: [UInt8]) throws {
        for table in ["tcp", "tcp6", "udp", "udp6", "unix", "netlink", "packet", "raw"] {
            _ = try surroundings.write(input, to: table)
        }
        let reader = NetworkTableReader(folder: surroundings.folder)
        _ = reader.socket(inode: 12345)
    }
}
