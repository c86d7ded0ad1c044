import Glibc
import LagMonitor
internal import LagRemote

/// `AttachProbe PID counted|held`: watches the process until it is killed; says so on stdout when it has found a loop.
let sink = MemorySink()
var configuration = StallMonitorConfiguration()
configuration.limits = .none
let watch = try AttachWatch(
    process: Int32(CommandLine.arguments[1])!,
    configuration: RemoteConfiguration(configuration),
    sink: sink,
    mayCount: CommandLine.arguments[2] == "counted"
) { print($0) }
try watch.start()
while watch.watchedLoops == 0 { usleep(10_000) }
print("watching")
fflush(nil)
while true { pause() }
