// A program that is watched by one line: its main loop is blocked for 400 ms, then it ends.
import Glibc
import LagMonitor

let monitor = StallMonitor.startFromEnvironment()
let loop = ObservedRunLoop.main
loop.add(
    RunLoopTimer(fireDate: .now + .milliseconds(50)) { _ in
        usleep(400_000)
        loop.stop()
    },
    to: .common
)
loop.run()
monitor?.stop()
let words = Array("the host is done\n".utf8)
_ = write(STDERR_FILENO, words, words.count)
