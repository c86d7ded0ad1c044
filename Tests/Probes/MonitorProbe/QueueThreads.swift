import Dispatch
import Glibc
import LagMonitor
import TestSupport

/// Dispatch creates a thread in the call that needs one, with the signal mask of the caller. Threads that it creates for the
/// monitor's threads, for pings and for handlers, are like all others: signals of the host's crash handler and of the capture are
/// delivered.
enum QueueThreads {
    private static let open = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGPROF, SIGSYS]

    static func check() throws {
        let (reported, monitor) = (CollectedRecords(), Probe.quickMonitor())
        // Two priorities that no other code here uses, so that neither has a thread yet.
        let pinged = DispatchQueue(label: "pinged", qos: .utility)
        monitor.onStall(queue: DispatchQueue(label: "reported", qos: .background)) { reported.add($0) }
        try monitor.start()
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(20))
        try monitor.watch(PingedQueue(pinged), rules: rules)
        // The first work on the queue is a ping.
        usleep(300_000)
        let search = StallSearch(monitor)
        pinged.async { repeat { usleep(300_000) } while !search.isOver }
        if !eventually({ reported.records.count == 1 }) { Probe.fail("\(reported.records.count) records") }
        // Read while the threads wait for more work.
        var names: [String] = []
        for thread in Probe.entries(of: "/proc/self/task") {
            let status = status(of: thread)
            let name = status["Name"] ?? ""
            names.append(name)
            if name.hasPrefix("lag-") { continue }
            guard let blocked = UInt64(status["SigBlk"] ?? "", radix: 16) else { Probe.fail("no signal mask of '\(name)'") }
            for signal in open where blocked & (1 << UInt64(signal - 1)) != 0 {
                Probe.fail("'\(name)' blocks signal \(signal): \(String(blocked, radix: 16))")
            }
        }
        // Main, watchdog, reporter, pings, and those of the two queues.
        if names.count < 6 { Probe.fail("threads: \(names)") }
        monitor.stop()
    }

    private static func status(of thread: String) -> [String: String] {
        guard let file = fopen("/proc/self/task/\(thread)/status", "r") else { Probe.fail("no status of \(thread)") }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let length = fread(&buffer, 1, buffer.count, file)
        let lines = String(decoding: buffer.prefix(length), as: UTF8.self).split(separator: "\n")
        let fields = lines.map { $0.split(separator: "\t").map(String.init) }.filter { $0.count == 2 }
        return Dictionary(fields.map { (String($0[0].dropLast()), $0[1]) }) { first, _ in first }
    }
}
