import Dispatch
import Foundation
import LagMonitor
import LagMonitorFoundation

/// A program that runs the main thread's Foundation run loop. It reads lines from standard input and answers each. `digest N` is
/// its mistake: it computes for N milliseconds on the main thread.
@main enum Server {
    static func main() throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        try monitor.watch(FoundationLoop(RunLoop.main))

        // A thread, because a dispatch source for standard input is not safe: when the pipe closes, libdispatch continues to read
        // memory that another thread has freed.
        Thread.detachNewThread {
            while let line = readLine() {
                DispatchQueue.main.async { MainActor.assumeIsolated { answer(line) } }
            }
            DispatchQueue.main.async {
                monitor.stop()
                exit(0)
            }
        }
        // The run loop serves the main queue.
        RunLoop.main.run()
    }

    @MainActor static func answer(_ line: String) {
        let words = line.split(separator: " ")
        switch words.first {
        case "digest": printAnswer("digest \(digest(milliseconds: words.last.flatMap { Int($0) } ?? 500))")
        case "hello": printAnswer("hello")
        default: printAnswer("expected hello or digest N, got '\(line)'")
        }
    }

    @inline(never) static func digest(milliseconds: Int) -> UInt64 {
        let end = MonotonicTime.now + .milliseconds(milliseconds)
        var digest: UInt64 = 14_695_981_039_346_656_037
        while MonotonicTime.now < end { digest = (digest ^ 0x2f) &* 1_099_511_628_211 }
        return digest
    }

    /// Answers go to standard error. Standard output is for records only.
    private static func printAnswer(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
