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
            "a blocking read of a pipe to which another thread writes late",
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
            "poll on a pipe to which another thread writes late",
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
            "a blocking recv from a server that responds late",
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
            "getaddrinfo with a name server that never responds",
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

@inline(never)
func openConnection(_ client: Int32, _ address: Immortal<sockaddr_in>) -> Int {
    let raw = UnsafeRawPointer(address.raw).assumingMemoryBound(to: sockaddr.self)
    let code = connect(client, raw, socklen_t(MemoryLayout<sockaddr_in>.size))
    return Int(code) + Int(close(client))
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
