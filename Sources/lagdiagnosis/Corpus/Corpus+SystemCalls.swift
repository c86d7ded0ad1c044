internal import CStallCorpus
internal import Foundation
internal import Glibc
internal import LagMonitor

// The main thread waits in a system call: for time, another process, the network.

extension Corpus {
    static let systemCalls: [Scenario] = [
        Scenario("usleep", [.syscall], ["backOff"], "usleep") { backOff(until: $0) },
        Scenario("thread-sleep", [.syscall], ["pauseBetweenRetries"], "Foundation's Thread.sleep") {
            pauseBetweenRetries(until: $0)
        },
        Scenario(
            "read-pipe",
            [.syscall],
            ["readAnswer"],
            "a blocking read of a pipe that another thread fills late",
            making: {
                let pipe = try Pipe()
                return { end in
                    try pipe.fill(at: end)
                    return readAnswer(pipe.read)
                }
            }
        ),
        Scenario(
            "poll",
            [.syscall],
            ["awaitAnswer"],
            "poll on a pipe that another thread fills late",
            making: {
                let pipe = try Pipe()
                return { end in
                    try pipe.fill(at: end)
                    return awaitAnswer(pipe.read)
                }
            }
        ),
        Scenario(
            "receive",
            [.syscall],
            ["fetchPage"],
            "a blocking recv from a server that answers late",
            making: {
                var ends: [Int32] = [-1, -1]
                guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                    throw Unavailable("socketpair", errno: errno)
                }
                let (ours, theirs) = (ends[0], ends[1])
                return { end in
                    try helper("server") {
                        rest(until: end)
                        _ = send(theirs, "page", 4, 0)
                    }
                    return fetchPage(ours)
                }
            }
        ),
        Scenario(
            "connect",
            [.syscall],
            ["openConnection"],
            "a blocking connect to a listener whose backlog is full",
            making: {
                let listener = try FullListener()
                return { openConnection(try listener.client(givingUpAt: $0), listener.address) }
            }
        ),
        Scenario(
            "dns",
            [.syscall],
            ["resolveHost"],
            "getaddrinfo with a nameserver that never answers",
            making: {
                try SilentNameserver.install()
                return { _ in resolveHost("host.example.") }
            }
        ),
        Scenario("child-wait", [.syscall], ["runTool"], "waitpid for a child process") { runTool(until: $0) },
    ]
}

@inline(never)
func backOff(until end: MonotonicTime) -> Int {
    var naps = 0
    while MonotonicTime.now < end {
        usleep(UInt32(clamping: (end - .now).wholeNanoseconds / 1_000 + 1))
        naps += 1
    }
    return naps
}

@inline(never)
func pauseBetweenRetries(until end: MonotonicTime) -> Int {
    let seconds = Double((end - .now).wholeNanoseconds) / 1e9
    Thread.sleep(forTimeInterval: seconds)
    return Int(seconds * 1_000)
}

@inline(never)
func readAnswer(_ descriptor: Int32) -> Int {
    var byte: UInt8 = 0
    return read(descriptor, &byte, 1) + Int(byte)
}

@inline(never)
func fetchPage(_ server: Int32) -> Int {
    var page: UInt32 = 0
    return recv(server, &page, 4, 0) + Int(page & 1)
}

@inline(never)
func awaitAnswer(_ descriptor: Int32) -> Int {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Int(poll(&entry, 1, -1)) + Int(entry.revents)
}

/// A listener on 127.0.0.1 that accepts nothing and whose backlog is full: the kernel drops the next one's SYN.
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
        // One connection fits in; another one shows that the next has to wait.
        for _ in 0..<4 {
            let filler = try Self.socket()
            _ = fcntl(filler, F_SETFL, O_NONBLOCK)
            _ = address.withRaw { connect(filler, $0, $1) }
        }
        usleep(10_000)
        self.address = Immortal(address) { _ in }
    }

    /// A socket whose connect is over at `end`: a real one would wait for minutes.
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

@inline(never)
func openConnection(_ client: Int32, _ address: Immortal<sockaddr_in>) -> Int {
    let raw = UnsafeRawPointer(address.raw).assumingMemoryBound(to: sockaddr.self)
    let code = connect(client, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
    return Int(code) + Int(close(client))
}

/// A nameserver in namespaces of this process's own: it takes questions on 127.0.0.1 and never answers.
enum SilentNameserver {
    static func install() throws {
        let file = try ScratchFile()
        defer { file.remove() }
        let text = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        guard write(file.descriptor, text, text.utf8.count) == text.utf8.count else { throw Unavailable("write", errno: errno) }
        let code = corpus_own_resolver(file.path)
        guard code == 0 else { throw Unavailable("a mount and network namespace of its own", errno: code) }
        let server = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        guard address.withRaw({ bind(server, $0, $1) }) == 0 else { throw Unavailable("bind to port 53", errno: errno) }
    }
}

@inline(never)
func resolveHost(_ name: String) -> Int {
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(name, "80", nil, &found)
    if code == 0 { freeaddrinfo(found) }
    return Int(code)
}

@inline(never)
func runTool(until end: MonotonicTime) -> Int {
    let seconds = Double((end - .now).wholeNanoseconds) / 1e9
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("\(seconds)"), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    guard posix_spawnp(&child, "sleep", nil, nil, &arguments, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    return Int(status)
}
