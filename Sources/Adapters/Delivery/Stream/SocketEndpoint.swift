internal import Glibc
internal import LagOutput

/// The address of a socket as the kernel takes it.
struct SocketEndpoint: Sendable {
    let family: Int32
    private let bytes: [UInt8]

    /// - Throws: ``SinkError/Reason/cannotOpen`` with ENAMETOOLONG or EINVAL when no socket can have that path.
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

    /// The addresses that a name or a number stands for. May ask a name server, and wait for it.
    static func all(ofHost host: String, port: Int) -> [SocketEndpoint] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
            guard let entry = entry?.pointee, let address = entry.ai_addr else { return nil }
            let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))
            return SocketEndpoint(family: entry.ai_family, bytes: Array(bytes))
        }
    }

    func connect(_ descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes {
            // The kernel copies it; no address needs more alignment than the allocator's.
            Glibc.connect(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
    }
}
