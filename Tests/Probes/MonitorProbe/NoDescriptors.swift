import Glibc
import LagMonitor
import TestSupport

/// A process without a free descriptor: a stall has its place and its function.
enum NoDescriptors {
    static func check() throws {
        let (reported, monitor, thread) = try Probe.watchedThread()
        // A stack is captured of a sleeping thread: this requires the kernel's files.
        thread.perform { napWithoutDescriptors() }
        guard eventually({ reported.records.count == 1 }) else { Probe.fail("no record") }
        reported.clear()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var taken = rlimit(rlim_cur: 256, rlim_max: limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &taken)
        var files: [Int32] = []
        while true {
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            if file < 0 { break }
            files.append(file)
        }
        if errno != EMFILE { Probe.fail("errno \(errno)") }
        for _ in 0..<3 { thread.perform { napWithoutDescriptors() } }
        let isFound = eventually { reported.records.count == 3 }
        let number = files[files.count / 2]
        for file in files { close(file) }
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        if !isFound { Probe.fail("\(reported.records.count) records without descriptors, not 3") }
        for record in reported.records {
            if record.culprit?.contains("napWithoutDescriptors") != true || record.cause != .syscall { Probe.fail("\(record)") }
        }
        monitor.stop()
        // A host closes descriptors that are not its own, and gets the number again, perhaps for the same file: then it is its
        // own.
        let (idle, again, another) = try Probe.watchedThread()
        // It has no open file for a moment then, as at its start: then its descriptor number cannot be distinguished from the
        // host's.
        another.perform { napWithoutDescriptors() }
        guard eventually({ idle.records.count == 1 }) else { Probe.fail("no record before the host closes all") }
        closefrom(3)
        let own = (0..<number).map { open($0 % 2 == 0 ? "/dev/null" : "/proc/self/maps", O_RDONLY | O_CLOEXEC) }
        again.stop()
        if let lost = own.first(where: { fcntl($0, F_GETFD) < 0 }) { Probe.fail("descriptor \(lost) of the host was closed") }
    }

    @inline(never) private static func napWithoutDescriptors() { usleep(250_000) }
}
