internal import Glibc
internal import LagMonitor

/// A listener on 127.0.0.1 that accepts nothing and whose backlog is full: the kernel drops the SYN of the next client.
struct FullListener {
    let address: Immortal<sockaddr_in>

    init() throws {
        let listener = try Self.socket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        guard address.withRaw({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
            throw Unavailable("listen", errno: errno)
        }
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let named = withUnsafeMutableBytes(of: &address) { bytes in
            getsockname(listener, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
        }
        guard named == 0 else { throw Unavailable("getsockname", errno: errno) }
        // One connection fits; another one verifies that the next must wait.
        for _ in 0..<4 {
            let filler = try Self.socket()
            _ = fcntl(filler, F_SETFL, O_NONBLOCK)
            _ = address.withRaw { connect(filler, $0, $1) }
        }
        usleep(10_000)
        self.address = Immortal(address) { _ in }
    }

    /// A socket whose connect ends at `end`; a normal one would wait for minutes.
    func client(givingUpAt end: MonotonicTime) throws -> Int32 {
        let client = try Self.socket()
        var time = timeval(tv_sec: 0, tv_usec: Int((end - .now).wholeNanoseconds / 1_000))
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        return client
    }

    private static func socket() throws -> Int32 {
        let made = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw Unavailable("socket", errno: errno) }
        return made
    }
}

extension sockaddr_in {
    func withRaw(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafeBytes(of: self) { bytes in
            body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
