internal import CLagBeacon
internal import CLagLinux
import Glibc
internal import LagActivity
import LagCapture

/// The object of a sleeping thread's system call: `call=N`, `fd=…`, `target=…`, `process=…`, `port=…`, `expected=…`.
extension Scenario {
    static let descriptions: [String: Body] = [
        "describe-read": {
            let ends = pipePair()
            describe(SYS_read, expected: link(ends.read), descriptor: ends.read) {
                var byte: UInt8 = 0
                _ = read(ends.read, &byte, 1)
            }
        },
        "describe-poll": {
            var pair: [Int32] = [0, 0]
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
            let socket = pair[0]
            describe(SYS_poll, expected: link(socket), descriptor: socket) {
                var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, -1)
            }
        },
        "describe-connect": {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            _ = withAddress(&address) { bind(listener, $0, $1) }
            listen(listener, 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &length) }
            }
            // No connection is accepted: the queue is soon full, and the next client waits.
            for _ in 0..<4 {
                let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                _ = fcntl(filler, F_SETFL, O_NONBLOCK)
                _ = withAddress(&address) { connect(filler, $0, $1) }
            }
            usleep(100_000)
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let target = address
            print("expected-port=\(UInt16(bigEndian: address.sin_port))")
            describe(SYS_connect, expected: link(client), descriptor: client) {
                var address = target
                _ = withAddress(&address) { connect(client, $0, $1) }
            }
        },
        "describe-openat": {
            let path = "/tmp/lagmonitor-probe-\(getpid()).fifo"
            mkfifo(path, 0o600)
            describe(SYS_openat, expected: path, descriptor: -1, file: path) { _ = open(path, O_RDONLY) }
        },
        "describe-wait4": {
            let child = spawnSleep("30")
            print("child=\(child)")
            describe(SYS_wait4, expected: "sleep", descriptor: -1, child: child) {
                _ = waitForChild(child)
            }
        },
        "describe-waitid": {
            let child = spawnSleep("30")
            print("child=\(child)")
            describe(SYS_waitid, expected: "sleep", descriptor: -1, child: child) {
                var info = siginfo_t()
                waitid(P_PID, id_t(child), &info, WEXITED)
            }
        },
        "describe-any-child": {
            let child = spawnSleep("30")
            describe(SYS_wait4, expected: "", descriptor: -1, child: child) { _ = waitpid(-1, nil, 0) }
        },
        "describe-fsync": {
            let path = "probe-\(getpid()).tmp"
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            unlink(path)
            describe(SYS_fsync, expected: link(descriptor), descriptor: descriptor, isCertain: false) {
                var bytes = [UInt8](repeating: 7, count: 256 * 1024)
                while true {
                    pwrite(descriptor, &bytes, bytes.count, 0)
                    fsync(descriptor)
                }
            }
        },
        "describe-futex": {
            let mutex = SharedMutex()
            mutex.lock()
            describe(SYS_futex, expected: "", descriptor: -1) { mutex.lock() }
        },
        "describe-nanosleep": { describe(SYS_clock_nanosleep, expected: "", descriptor: -1) { sleep(1000) } },
        // Arguments with invalid addresses, which the kernel refuses to read.
        "describe-wrong-address": {
            var call = cll_thread_syscall()
            for number: Int32 in [SYS_openat, SYS_connect, SYS_poll, SYS_wait4, SYS_read, 100_000, -1] {
                call.number = Int64(number)
                call.arguments = (UInt64.max, 8, 8, .max, 8, .max)
                var wait = cll_wait()
                cll_wait_describe(getpid(), CaptureScenarios.gettid(), &call, &wait)
                if wait.target_length > 0 || wait.address_length > 0 { print("reported=\(number)") }
            }
            print("alive=yes")
        },
    ]

    private static func withAddress(_ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32)
        -> Int32
    {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// The kernel's name for a descriptor.
    private static func link(_ descriptor: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        let length = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// - Parameters:
    ///   - isCertain: whether the thread is certainly found in the call.
    ///   - child: ended afterwards; `file` is removed too.
    private static func describe(
        _ number: Int32,
        expected: String,
        descriptor: Int32,
        isCertain: Bool = true,
        child: pid_t = 0,
        file: String? = nil,
        _ body: @escaping @Sendable () -> Void
    ) {
        cll_memory_prepare()
        let thread = StalledThread { thread in
            thread.setReady()
            body()
        }
        let deadline = clb_now_ns() + (isCertain ? 20 : 3) * 1_000_000_000
        var call = cll_thread_syscall()
        while cll_procfs_syscall(getpid(), thread.target.tid, &call) != Int32(CLL_SYSCALL_BLOCKED) || call.number != Int64(number)
        {
            guard clb_now_ns() < deadline else {
                print("caught=no")
                finish(child, file)
            }
            usleep(200)
        }
        var wait = cll_wait()
        cll_wait_describe(getpid(), thread.target.tid, &call, &wait)
        print("caught=yes")
        print("descriptor=\(wait.descriptor == descriptor ? "right" : "\(wait.descriptor)")")
        print("expected=\(expected)")
        print("target=\(text(wait.target, wait.target_length))")
        print("wchan=\(text(wait.wchan, wait.wchan_length))")
        print("process=\(wait.process)")
        let address = withUnsafeBytes(of: wait.address) { Array($0.prefix(Int(wait.address_length))) }
        if address.count >= 4 { print("port=\(UInt16(address[2]) << 8 | UInt16(address[3]))") }
        let inode = cll_wait_socket(&wait)
        print("socket=\(inode == 0 ? "none" : "socket:[\(inode)]")")
        finish(child, file)
    }

    private static func finish(_ child: pid_t, _ file: String?) -> Never {
        if child > 0 { kill(child, SIGKILL) }
        if let file { unlink(file) }
        _exit(0)
    }

    private static func text<Bytes>(_ bytes: Bytes, _ length: UInt32) -> String {
        withUnsafeBytes(of: bytes) { String(decoding: $0.prefix(Int(length)), as: UTF8.self) }
    }
}
