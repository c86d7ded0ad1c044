import Glibc
import LagMonitor

/// A program that is watched through one line of code: its main loop is blocked for 400 ms, then it exits.
enum FromEnvironment {
    static func run() {
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
    }
}
