internal import Glibc
internal import LagOutput

/// The address of a socket in the kernel's form.
struct SocketEndpoint: Sendable {
    let family: Int32
    private let bytes: [UInt8]

    /// - Throws: ``SinkError/Reason/cannotOpen`` with ENAMETOOLONG or EINVAL if a socket cannot have that path.
    init(unixPath path: String) throws(SinkError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SinkError(.cannotOpen, path: path, code: EINVAL) }
        var address = sockaddr_un()
        guard path.utf8.count <= StreamAddress.maximumPathBytes else {
            throw SinkError(.cannotOpen, path: path, code: ENAMETOOLONG)
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        family = AF_UNIX
        bytes = withUnsafeBytes(of: address) { Array($0) }
    }

    private init(family: Int32, bytes: [UInt8]) {
        self.family = family
        self.bytes = bytes
    }

    /// The addresses of a name or a numeric address. May query a name server and wait for it.
    /// - Parameter isNumber: no query is made; then a name has no address.
    static func all(ofHost host: String, port: Int, isNumber: Bool = false) -> [SocketEndpoint] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (isNumber ? AI_NUMERICHOST : 0)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
            guard let entry = entry?.pointee, let address = entry.ai_addr else { return nil }
            let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))
            return SocketEndpoint(family: entry.ai_family, bytes: Array(bytes))
        }
    }

    /// Whether a text that is not an address is a possible host name (RFC 1123); for names beyond ASCII the system decides.
    static func isHostName(_ text: String) -> Bool {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        func isAllowed(_ byte: UInt8) -> Bool {
            isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte >= 0x80
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        // Only digits: an invalid address.
        guard !parts.allSatisfy({ $0.allSatisfy(isDigit) }) else { return false }
        return name.utf8.count <= 253 && parts.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(isAllowed) }
    }

    func connect(_ descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes {
            // The kernel copies it; no address needs more alignment than the allocator provides.
            Glibc.connect(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
    }
}
