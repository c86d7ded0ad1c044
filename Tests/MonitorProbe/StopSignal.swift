import Glibc
import LagMonitor

/// A process that is stopped by SIGSTOP and goes on has no stall, wherever in short work it was caught.
enum StopSignal {
    static func check() throws {
        let sink = MemorySink()
        let monitor = Probe.quickMonitor(sinks: [sink])
        let thread = try KeepAliveThread(name: "worker")
        try monitor.start()
        try monitor.watch(thread.loop)
        for round in 0..<12 {
            thread.perform {
                // 80 ms of work, below the threshold of 120 ms, and however long the stop in it lasts.
                for _ in 0..<80 { usleep(1000) }
            }
            usleep(UInt32(round % 4) * 20_000 + 5000)
            stopOneself(milliseconds: 400)
            if !Probe.eventually({ thread.loop.beacon.activity == .waiting }) { Probe.fail("the loop does not come to rest") }
        }
        monitor.stop()
        if !sink.lines.isEmpty { Probe.fail(sink.lines.joined()) }
    }

    /// A child process stops this one and lets it go on.
    static func stopOneself(milliseconds: Int) {
        let command = "kill -STOP \(getpid()); sleep 0.\(milliseconds); kill -CONT \(getpid())"
        var child = pid_t()
        let words: [String] = ["/bin/sh", "-c", command]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        guard posix_spawn(&child, "/bin/sh", nil, nil, arguments + [nil], environ) == 0 else { Probe.fail("posix_spawn") }
        while waitpid(child, nil, 0) < 0, errno == EINTR {}
    }
}
