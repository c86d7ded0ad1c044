import Glibc
import LagMonitor
internal import LagRemote

/// `attach PID counted|held`: watches the process until this one is killed, and prints `watching` when it has found a loop.
enum Attach {
    static func run(arguments: [String]) throws {
        let sink = MemorySink()
        var configuration = StallMonitorConfiguration()
        configuration.limits = .none
        let watch = try AttachWatch(
            process: Int32(arguments[0])!,
            configuration: RemoteConfiguration(configuration),
            sink: sink,
            mayCount: arguments[1] == "counted"
        ) { print($0) }
        try watch.start()
        while watch.watchedLoops == 0 { usleep(10_000) }
        print("watching")
        fflush(nil)
        while true { pause() }
    }
}
