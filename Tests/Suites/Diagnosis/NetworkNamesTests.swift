import Foundation
import Glibc
import LagDiagnosis
import TestSupport
import Testing

struct NetworkNamesTests {
    static let tcp = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1138 1 000000006843b64b 100 0 0 10 0
           1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 1139 1 0000000000000000 20 4 30 10 -1
           2: 0200000A:D432 070200C0:01BB 02 00000001:00000000 01:00000064 00000000  1000        0 1140 2 0000000000000000 100 0 0 1 7
           3: 0100007F:D433 0100007F:1F90 08 00000000:00000000 00:00000000 00000000  1000        0 1141 1 0000000000000000 20 4 30 10 -1
           4: 0100007F:D434 0100007F:1F90 1F 00000000:00000000 00:00000000 00000000  1000        0 1142 1 0000000000000000 20 4 30 10 -1
           5: 0100007F:D435 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 1143 1 0000000000000000 20 4 30 10 -1
        """
    static let tcp6 = """
          sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 00000000000000000000000001000000:0050 B80D0120000000000000000001000000:01BB 01 00000000:00000000 00:00000000 00000000     0        0 2001 1 0000000000000000 20 4 30 10 -1
           1: 0000000000000000FFFF00000100007F:0050 0000000000000000FFFF00000100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 2002 1 0000000000000000 20 4 30 10 -1
        """
    static let udp = """
           sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
         1060: 0100007F:B1A2 3500007F:0035 01 00000000:00000000 00:00000000 00000000   101        0 3001 2 0000000000000000 0
         1061: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 3002 2 0000000000000000 0
        """
    static let unix = """
        Num       RefCount Protocol Flags    Type St Inode Path
        00000000195551ae: 00000003 00000000 00000000 0001 03 4001
        00000000cc3d487e: 00000002 00000000 00010000 0001 01 4002 /run/app name.sock
        00000000cc3d487f: 00000002 00000000 00010000 0005 01 4003 @/tmp/.X11-unix/X0
        00000000cc3d4880: 00000003 00000000 00000000 0002 01 4004 relative
        """

    private func name(_ inode: UInt64, _ table: NetworkNames.Table, _ text: String) -> String? {
        name(inode, table, Array(text.utf8)[...])
    }

    private func name(_ inode: UInt64, _ table: NetworkNames.Table, _ bytes: ArraySlice<UInt8>) -> String? {
        bytes.split(separator: UInt8(ascii: "\n")).lazy.compactMap { NetworkNames.socket(inode: inode, in: table, line: $0) }
            .first
    }

    @Test(arguments: [
        (1138, "tcp 127.0.0.1:8080 (listening)"), (1139, "tcp 127.0.0.1:8080"), (1140, "tcp 192.0.2.7:443 (connecting)"),
        (1141, "tcp 127.0.0.1:8080 (closed by the other side)"), (1142, "tcp 127.0.0.1:8080 (state 31)"),
        (1143, "tcp 127.0.0.1:54325 (local)"),
    ])
    func `TCP sockets have their addresses and states`(inode: UInt64, expected: String) {
        #expect(name(inode, .tcp, Self.tcp) == expected)
    }

    @Test(arguments: [(2001, "tcp [2001:db8::1]:443"), (2002, "tcp [::ffff:127.0.0.1]:49152")])
    func `IPv6 TCP sockets have their addresses`(inode: UInt64, expected: String) {
        #expect(name(inode, .tcp6, Self.tcp6) == expected)
    }

    @Test(arguments: [(3001, "udp 127.0.0.53:53"), (3002, "udp 0.0.0.0:5353 (local)")])
    func `UDP sockets have their addresses`(inode: UInt64, expected: String) { #expect(name(inode, .udp, Self.udp) == expected) }

    @Test(arguments: [
        (4001, "unix (unnamed)"), (4002, "unix /run/app name.sock"), (4003, "unix @/tmp/.X11-unix/X0"), (4004, "unix relative"),
    ])
    func `Unix sockets have their paths`(inode: UInt64, expected: String) { #expect(name(inode, .unix, Self.unix) == expected) }

    @Test func `other numbers in a table are not mistaken for inodes`() {
        for inode: UInt64 in [0, 1, 113, 11381, 1000, 100, .max] { #expect(name(inode, .tcp, Self.tcp) == nil) }
        for inode: UInt64 in [0, 1, 3, 400] { #expect(name(inode, .unix, Self.unix) == nil) }
    }

    @Test func `a damaged table gives no name or a complete one`() {
        let tables: [(NetworkNames.Table, String, UInt64)] = [
            (.tcp, Self.tcp, 1140), (.tcp6, Self.tcp6, 2001), (.udp, Self.udp, 3001), (.unix, Self.unix, 4002),
        ]
        for (table, text, inode) in tables {
            let bytes = Array(text.utf8)
            for end in stride(from: 0, to: bytes.count, by: 3) {
                _ = name(inode, table, bytes[..<end])
                var changed = bytes
                changed[end] ^= 0x55
                _ = name(inode, table, changed[...])
            }
        }
        #expect(name(7, .tcp, "0: zz:1 0:0 01 0:0 0:0 0 0 0 7 1") == nil)
        #expect(name(7, .tcp, "0: 0100007F:10000 00000000:0000 01 0:0 0:0 0 0 0 7 1") == nil)
        #expect(name(7, .tcp, "0: 0100007F:1000 00000000:0000 01 0:0 0:0 0 0 0 99999999999999999999999 1") == nil)
    }
}

/// With real sockets.
struct NetworkTableReaderTests {
    private func inode(of descriptor: Int32) throws -> UInt64 {
        let link = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        try #require(link.hasPrefix("socket:[") && link.hasSuffix("]"))
        return try #require(UInt64(link.dropFirst(8).dropLast()))
    }

    /// A loopback socket bound to a port of the kernel's choice, and its port.
    private func bound(_ type: __socket_type) throws -> (descriptor: Int32, address: sockaddr_in) {
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        try #require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        try #require(isBound)
        return (descriptor, address)
    }

    private func connected(_ type: __socket_type, to address: sockaddr_in) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
        try #require(descriptor >= 0)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        return descriptor
    }

    private func text(_ address: sockaddr_in) -> String { "127.0.0.1:\(UInt16(bigEndian: address.sin_port))" }

    @Test func `a stream socket is named by its peer`() throws {
        let (server, address) = try bound(SOCK_STREAM)
        defer { close(server) }
        try #require(listen(server, 1) == 0)
        let client = try connected(SOCK_STREAM, to: address)
        defer { close(client) }
        let reader = NetworkTableReader()
        #expect(try reader.socket(inode: inode(of: client)) == "tcp \(text(address))")
        #expect(try reader.socket(inode: inode(of: server)) == "tcp \(text(address)) (listening)")
        let fromMemory = withUnsafeBytes(of: address) { SocketAddress(sockaddr: Array($0)) }
        #expect(fromMemory?.text(transport: "tcp") == "tcp \(text(address))")
    }

    @Test func `a datagram socket is named by its peer`() throws {
        let (server, address) = try bound(SOCK_DGRAM)
        defer { close(server) }
        let client = try connected(SOCK_DGRAM, to: address)
        defer { close(client) }
        #expect(try NetworkTableReader().socket(inode: inode(of: client)) == "udp \(text(address))")
        #expect(try NetworkTableReader().socket(inode: inode(of: server)) == "udp \(text(address)) (local)")
    }

    @Test func `a local socket is named by its path`() throws {
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/a b.sock"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        #expect(try NetworkTableReader().socket(inode: inode(of: descriptor)) == "unix \(path)")
        #expect(withUnsafeBytes(of: address) { SocketAddress(sockaddr: Array($0)) }?.text(transport: nil) == "unix \(path)")
    }

    @Test func `a missing socket has no name`() {
        #expect(NetworkTableReader().socket(inode: .max) == nil)
        #expect(NetworkTableReader(folder: "/nonexistent").socket(inode: 1) == nil)
    }

    @Test func `lines that cross read boundaries are found, up to the size limit of the table`() throws {
        let scratch = try ScratchDirectory()
        func line(_ inode: Int) -> String {
            "   0: 0100007F:1F90 070200C0:01BB 01 00000000:00000000 00:00000000 00000000     0        0 \(inode) 1 0 100 0 0 10 0\n"
        }
        let lines = (1...60_000).map(line)
        _ = try scratch.write(Array(lines.joined().utf8), to: "tcp")
        let reader = NetworkTableReader(folder: scratch.path)
        let perPiece = (1 << 15) / lines[300].utf8.count
        for inode in (perPiece - 2)...(perPiece + 3) {
            #expect(reader.socket(inode: UInt64(inode)) == "tcp 192.0.2.7:443")
        }
        #expect(lines.reduce(0) { $0 + $1.utf8.count } > NetworkTableReader.maximumTableBytes)
        #expect(reader.socket(inode: 60_000) == nil)
    }
}
