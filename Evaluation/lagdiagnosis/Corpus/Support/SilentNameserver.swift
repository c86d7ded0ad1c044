internal import Glibc
internal import StallFixtures

/// A name server in separate namespaces of this process: it receives queries on 127.0.0.1, and never responds.
enum SilentNameserver {
    static func install() throws {
        let file = try ScratchFile()
        defer { file.remove() }
        let text = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        guard write(file.descriptor, text, text.utf8.count) == text.utf8.count else { throw Unavailable("write", errno: errno) }
        let code = corpus_own_resolver(file.path)
        guard code == 0 else { throw Unavailable("a separate mount and network namespace", errno: code) }
        let server = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        guard address.withRaw({ bind(server, $0, $1) }) == 0 else { throw Unavailable("bind to port 53", errno: errno) }
    }
}
