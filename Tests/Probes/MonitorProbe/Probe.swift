import Dispatch
import Glibc
import LagMonitor
import TestSupport

/// Checks that need a separate process: they exit with 0 and `fine` on stdout, or with 1 and the errors. And programs that tests
/// watch from outside.
@main struct Probe {
    static func main() throws {
        switch CommandLine.arguments.dropFirst().first {
        case "leftovers": try Leftovers.check()
        case "unwinder": try HostUnwinder.check()
        case "cycles": try Cycles.check()
        case "stop-signal": try StopSignal.check()
        case "across-stop": try AcrossStop.check()
        case "no-descriptors": try NoDescriptors.check()
        case "closed-loop": try ClosedLoop.check()
        case "quota": try ShortOfQuota.check()
        case "debugger": try Debugger.check()
        case "slow-symbolizer": try SlowSymbolizer.check()
        case "queue-threads": try QueueThreads.check()
        case "pools": try Pools.check()
        case "sanitized": try Sanitized.check()
        case "jobs": Jobs.check()
        case "hold": return Debugger.hold(arguments: Array(CommandLine.arguments.dropFirst(2)))
        case "from-environment": return FromEnvironment.run()
        case "linked": return try LinkedProgram.run()
        case "attach": return try Attach.run(arguments: Array(CommandLine.arguments.dropFirst(2)))
        case "main-loop": Checks.end { MainLoopProbe.run() }
        case "threads": Checks.end { ThreadsProbe.run() }
        case "descriptors": Checks.end { DescriptorsProbe.run() }
        case "capture": return try CaptureScenarios.run(CommandLine.arguments.dropFirst(2).first ?? "")
        case "published": return try Published.run(arguments: Array(CommandLine.arguments.dropFirst(2)))
        case "lines": return try Lines.write(arguments: Array(CommandLine.arguments.dropFirst(2)))
        default: fail("no such check")
        }
        print("fine")
    }

    static func fail(_ message: String) -> Never {
        print(message)
        fflush(nil)
        exit(1)
    }

    static func entries(of path: String) -> [String] {
        guard let directory = opendir(path) else { fail("cannot list \(path)") }
        defer { closedir(directory) }
        let own = "\(dirfd(directory))"
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != "..", name != own || path != "/proc/self/fd" { names.append(name) }
        }
        return names.sorted()
    }

    static func quickMonitor(sinks: [any RecordSink] = []) -> StallMonitor {
        var configuration = StallMonitorConfiguration()
        configuration.rules.callout = .init(interval: .milliseconds(40))
        return StallMonitor(configuration: configuration, sinks: sinks)
    }

    /// A thread whose loop is watched by a started monitor, and the stalls reported for it.
    static func watchedThread() throws -> (CollectedRecords, StallMonitor, KeepAliveThread) {
        let (reported, monitor) = (CollectedRecords(), quickMonitor())
        monitor.onStall(queue: .global()) { reported.add($0) }
        let thread = try KeepAliveThread(name: "worker")
        try monitor.start()
        try monitor.watch(thread.loop)
        return (reported, monitor, thread)
    }
}
