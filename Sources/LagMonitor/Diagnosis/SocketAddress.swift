internal import LagModel

/// The peer or own address of a socket, as text: `127.0.0.1:8080`, `[2001:db8::1]:443`, `/run/app.sock`.
///
/// Any thread. IPv6 in the form of RFC 5952, in brackets before a port (section 6).
package struct SocketAddress: Sendable, Hashable {
    /// The address without a protocol.
    package let text: String
    /// Whether it has neither an address nor a port: the socket is not bound or connected.
    package let isUnspecified: Bool
    /// Whether it is a name of the socket family `unix`: then ``text`` is a path, a name after `@`, or `(unnamed)`.
    package let isUnix: Bool

    /// Families of `socket(2)`, as Linux numbers them.
    private enum Family {
        static let unix: UInt16 = 1
        static let ipv4: UInt16 = 2
        static let ipv6: UInt16 = 10
        static let netlink: UInt16 = 16
        static let vsock: UInt16 = 40
    }

    private init(text: String, isUnspecified: Bool = false, isUnix: Bool = false) {
        self.text = text
        self.isUnspecified = isUnspecified
        self.isUnix = isUnix
    }

    /// - Parameters:
    ///   - ip: 4 or 16 bytes in network order; nil for any other number.
    ///   - scope: the interface index of a link-local address; 0 if there is none.
    package init?(ip: ArraySlice<UInt8>, port: UInt16, scope: UInt32 = 0) {
        let isUnspecified = port == 0 && ip.allSatisfy { $0 == 0 }
        switch ip.count {
        case 4: self.init(text: "\(Self.ipv4(ip)):\(port)", isUnspecified: isUnspecified)
        case 16:
            let zone = scope == 0 ? "" : "%\(scope)"
            self.init(text: "[\(Self.ipv6(Array(ip)))\(zone)]:\(port)", isUnspecified: isUnspecified)
        default: return nil
        }
    }

    /// A name of the family `unix`, as in `sun_path`: a path up to the first NUL, or an abstract name after a leading NUL, which
    /// is written as `@` as the kernel does (unix(7)); empty for a socket without a name.
    package init(unixPath: ArraySlice<UInt8>) {
        let path: [UInt8]
        if unixPath.first == 0 {
            let isEmpty = unixPath.allSatisfy { $0 == 0 }
            path = isEmpty ? [] : unixPath.map { $0 == 0 ? UInt8(ascii: "@") : $0 }
        } else {
            path = Array(unixPath.prefix { $0 != 0 })
        }
        self.init(
            text: path.isEmpty ? "(unnamed)" : String(decoding: path, as: UTF8.self),
            isUnspecified: path.isEmpty,
            isUnix: true
        )
    }

    /// From a `sockaddr` in memory; nil if it is too short for its family, or if the family is not supported.
    /// - Parameter sockaddr: the bytes passed to the call, at most 128 of which matter (`sockaddr_storage`).
    package init?(sockaddr: [UInt8]) {
        let bytes = LittleEndianBytes(Array(sockaddr.prefix(128)))
        guard bytes.count >= 2 else { return nil }
        let port = UInt16(bytes.u8(2)) << 8 | UInt16(bytes.u8(3))
        switch bytes.u16(0) {
        case Family.unix: self.init(unixPath: bytes.bytes.dropFirst(2))
        case Family.ipv4:
            guard bytes.count >= 8 else { return nil }
            self.init(ip: bytes.bytes[4..<8], port: port)
        case Family.ipv6:
            // The form of RFC 2133, which the kernel still accepts, lacks the scope.
            guard bytes.count >= 24 else { return nil }
            self.init(ip: bytes.bytes[8..<24], port: port, scope: bytes.u32(24))
        case Family.netlink: self.init(text: "netlink")
        case Family.vsock:
            guard bytes.count >= 12 else { return nil }
            self.init(text: "vsock \(bytes.u32(8)):\(bytes.u32(4))")
        default: return nil
        }
    }

    /// With the protocol before it: `tcp 127.0.0.1:8080`, `unix /run/app.sock`.
    /// - Parameter transport: `tcp`, `udp`; nil: not known, and then the text is only the Internet address.
    package func text(transport: String?) -> String {
        if isUnix { return "unix \(text)" }
        return transport.map { "\($0) \(text)" } ?? text
    }

    private static func ipv4(_ ip: ArraySlice<UInt8>) -> String { ip.map { "\($0)" }.joined(separator: ".") }

    /// RFC 5952, sections 4 and 5: lower-case digits without leading zeros; the longest run of two or more zero fields (the first
    /// of equal ones) as `::`; the last part of an IPv4-mapped address in IPv4 form.
    private static func ipv6(_ ip: [UInt8]) -> String {
        if ip[..<10].allSatisfy({ $0 == 0 }), ip[10] == 0xff, ip[11] == 0xff { return "::ffff:\(ipv4(ip[12...]))" }
        let fields = stride(from: 0, to: 16, by: 2).map { (at: Int) -> UInt16 in UInt16(ip[at]) << 8 | UInt16(ip[at + 1]) }
        var longest = 0..<0
        var index = 0
        while index < fields.count {
            let end = fields[index...].firstIndex { $0 != 0 } ?? fields.count
            if end - index > max(1, longest.count) { longest = index..<end }
            index = max(end, index + 1)
        }
        func joined(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
        guard !longest.isEmpty else { return joined(fields[...]) }
        return "\(joined(fields[..<longest.lowerBound]))::\(joined(fields[longest.upperBound...]))"
    }
}
