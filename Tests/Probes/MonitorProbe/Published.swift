import Glibc
internal import LagActivity
import LagMonitor
import LagMonitorOTLP
import Synchronization

/// `MonitorProbe published MODE`: a program that publishes what its threads work on. Prints the number of the thread that works,
/// and keeps working.
enum Published {
    private static let trace = StallTrace(traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    static func run(arguments: [String]) throws {
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let monitor = StallMonitor(configuration: configuration)
        try monitor.start()
        try OpenTelemetryContexts.publish(serviceName: "shop", serviceVersion: "1.2")
        switch arguments.first {
        case "sleeping": atWork { sleepForever() }
        case "computing": atWork { while true { sum.add(1, ordering: .relaxed) } }
        case "over":
            withStallContext(name: "GET /orders/:id", trace: trace) {}
            say()
            sleepForever()
        case "task":
            Task.detached {
                await withStallContext(name: "GET /orders/:id", trace: trace) {
                    await Task.yield()
                    say()
                    sleepForever()
                }
            }
            sleepForever()
        case "twice":
            do {
                try OpenTelemetryContexts.publish()
            } catch {
                print(error)
            }
        default: Probe.fail("no such mode")
        }
    }

    private static let sum = Atomic<UInt64>(0)

    /// Another context within it has ended.
    private static func atWork(_ body: () -> Void) {
        withStallContext(name: "GET /orders/:id", ["tenant": "a"], trace: trace) {
            withStallContext(name: "inner") {}
            say()
            body()
        }
    }

    private static func sleepForever() -> Never { while true { pause() } }

    private static func say() {
        print(ThreadIdentity.current.tid)
        fflush(nil)
    }
}
