import Dispatch
import LagMonitor
import LagMonitorNIO
internal import NIOCore
internal import NIOPosix

/// The cost of watching a SwiftNIO server: an echo server's throughput with the monitor and without, in pairs, and the
/// loop's time for a heartbeat.
///
/// Usage: `NIOEcho [pairs] [milliseconds a window]`
@main struct NIOEcho {
    static func main() throws {
        let pairs = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 60
        let window = CommandLine.arguments.dropFirst(2).first.flatMap(Int.init) ?? 500
        let monitor = StallMonitor()
        // No stall is expected, unless the machine delays the loop.
        monitor.onStall(queue: .global()) { print("stall: \($0.message); cause: \($0.cause)") }
        try monitor.start()
        try measureThroughput(pairs: max(2, pairs), milliseconds: max(10, window), monitor)
        try measureBridge(pairs: max(2, pairs), milliseconds: max(10, window))
        try HeartbeatCost.measure(rounds: 40)
        monitor.stop()
    }

    /// Compares the same pipeline with a monitor that records contexts and with one that does not.
    private static func measureBridge(pairs: Int, milliseconds: Int) throws {
        let servers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let clients = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let traffic = try EchoTraffic(servers: servers, clients: clients, connections: 32, bridge: true)
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let recorder = StallMonitor(configuration: configuration)
        _ = traffic.rate(milliseconds: 1000)
        var ratios: [Double] = []
        for pair in 0..<pairs {
            var rates = (with: 0.0, without: 0.0)
            for isRecorded in pair.isMultiple(of: 2) ? [true, false] : [false, true] {
                if isRecorded {
                    try recorder.start()
                    rates.with = traffic.rate(milliseconds: milliseconds)
                    recorder.stop()
                } else {
                    rates.without = traffic.rate(milliseconds: milliseconds)
                }
            }
            ratios.append(rates.with / rates.without)
        }
        let summary = Summary(ratios)
        print(
            "echo throughput, contexts recorded / not recorded: median \(summary.median.text(4)), 95 % \(summary.low.text(4))…\(summary.high.text(4)), \(pairs) pairs"
        )
        try traffic.end()
        try clients.syncShutdownGracefully()
        try servers.syncShutdownGracefully()
    }

    private static func measureThroughput(pairs: Int, milliseconds: Int, _ monitor: StallMonitor) throws {
        // The server and its clients have one thread each; both are always busy.
        let servers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let clients = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let traffic = try EchoTraffic(servers: servers, clients: clients, connections: 32)
        let loops = NIOLoops(servers, named: "echo")
        _ = traffic.rate(milliseconds: 1000)
        var ratios: [Double] = []
        var (without, with) = (0.0, 0.0)
        let heartbeats = loops[0].heartbeats
        for pair in 0..<pairs {
            // The order alternates, so that changes over time affect both.
            var rates = (with: 0.0, without: 0.0)
            for isWatched in pair.isMultiple(of: 2) ? [true, false] : [false, true] {
                if isWatched {
                    for loop in loops { try monitor.watch(loop, rules: .eventLoops) }
                    rates.with = traffic.rate(milliseconds: milliseconds)
                    monitor.unwatch(loops)
                } else {
                    rates.without = traffic.rate(milliseconds: milliseconds)
                }
            }
            ratios.append(rates.with / rates.without)
            with += rates.with / Double(pairs)
            without += rates.without / Double(pairs)
        }
        let seconds = Double(pairs * milliseconds) / 1000
        let summary = Summary(ratios)
        print("echoes a second, not watched: \(Int(without)); watched: \(Int(with))")
        print(
            "echo throughput, watched / not watched: median \(summary.median.text(4)), 95 % \(summary.low.text(4))…\(summary.high.text(4)), \(pairs) pairs"
        )
        print("heartbeats a second of a busy loop: \((Double(loops[0].heartbeats - heartbeats) / seconds).text(1))")
        print("stalls found: \(monitor.statistics.stalls)")
        try traffic.end()
        // The heartbeats of idle loops.
        let idle = try monitor.watch(servers)
        while !idle.allSatisfy(\.detectsIdleness) { pause(milliseconds: 10) }
        let before = idle[0].heartbeats
        pause(milliseconds: 5000)
        print("heartbeats a second of an idle loop: \((Double(idle[0].heartbeats - before) / 5).text(1))")
        monitor.unwatch(idle)
        try clients.syncShutdownGracefully()
        try servers.syncShutdownGracefully()
    }
}
