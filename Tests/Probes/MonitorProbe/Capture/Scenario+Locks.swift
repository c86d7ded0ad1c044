internal import CLagBeacon
import Glibc
import LagMonitor
import StallFixtures
import Synchronization

/// Stalls that hold the locks that a careless monitor needs, tested with the whole monitor.
extension Scenario {
    static let locks: [String: Body] = [
        // malloc's lock: malloc_stats() writes to a full pipe while it holds the only arena.
        "malloc-lock": {
            if getenv("GLIBC_TUNABLES") == nil {
                setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=1", 1)
                execv("/proc/self/exe", CommandLine.unsafeArgv)
            }
            blockStandardError(forMilliseconds: 600)
            try watchStall(meanwhile: { free(malloc(100_000)) }, { fixture_malloc_stats() })
        },
        // The loader's lock: dlopen() runs a constructor that hangs.
        "dlopen": {
            let library = try StallingLibrary()
            defer { library.remove() }
            try watchStall(meanwhile: { _ = fixture_file_of("malloc") }, { library.open() })
        },
    ]

    /// Runs `stall` on a watched loop. `meanwhile` takes the lock on another thread during the stall: the time that this takes
    /// shows that the lock was really held.
    private static func watchStall(
        meanwhile takeLock: @escaping @Sendable () -> Void,
        _ stall: @escaping @Sendable () -> Void
    ) throws {
        let path = "probe-\(getpid()).jsonl"
        defer { unlink(path) }
        let monitor = StallMonitor(sinks: [try FileSink(path: path)])
        try monitor.start()
        let thread = try KeepAliveThread(name: "holder")
        let loop = thread.loop
        try monitor.watch(loop)
        let blocked = StalledThread { thread in
            usleep(300_000)
            let begin = clb_now_ns()
            takeLock()
            thread.verdict.store(Int((clb_now_ns() - begin) / 1_000_000), ordering: .relaxed)
        }
        thread.perform { stall() }
        blocked.join()
        usleep(300_000)
        thread.stop()
        monitor.stop()
        print("lock-held=\(blocked.verdict.load(ordering: .relaxed) > 50 ? "yes" : "no")")
        var bytes = [UInt8](repeating: 0, count: 65536)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let count = read(descriptor, &bytes, bytes.count)
        print("record=\(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))")
    }

    /// Makes standard error a full pipe that is read only later.
    private static func blockStandardError(forMilliseconds milliseconds: Int) {
        let ends = pipePair()
        _ = fcntl(ends.write, F_SETFL, O_NONBLOCK)
        while write(ends.write, "x", 1) == 1 {}
        _ = fcntl(ends.write, F_SETFL, 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends.read, 0)
        posix_spawn_file_actions_addclose(&actions, ends.write)
        let command = "sleep \(Double(milliseconds) / 1000); exec cat >/dev/null"
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
        var child = pid_t()
        precondition(posix_spawnp(&child, "sh", &actions, nil, arguments, environ) == 0)
        close(ends.read)
        dup2(ends.write, 2)
        close(ends.write)
    }
}

/// A library whose constructor hangs for half a second, compiled by the probe.
struct StallingLibrary: Sendable {
    private let path = "/tmp/lagmonitor-probe-\(getpid())"

    struct NoCompiler: Error {}

    init() throws {
        let source = """
            #include <time.h>
            __attribute__((constructor, noinline)) void stalling_constructor(void) {
                struct timespec time = {0, 600000000};
                nanosleep(&time, 0);
                __asm__ volatile("" ::: "memory");
            }
            """
        let file = fopen(path + ".c", "w")
        fputs(source, file)
        fclose(file)
        let build = "\(path).c -shared -fPIC -o \(path).so"
        guard system("clang \(build) || cc \(build)") == 0 else { throw NoCompiler() }
    }

    @inline(never) func open() {
        let handle = dlopen(path + ".so", RTLD_NOW)
        precondition(handle != nil)
    }

    func remove() {
        unlink(path + ".c")
        unlink(path + ".so")
    }
}
