import Dispatch
import Foundation
import LagMonitor
import LagMonitorFoundation

/// A program on the main thread's Foundation run loop: it reads lines from standard input and answers each. `digest N` is its
/// mistake: it computes for N milliseconds right there.
@main enum Server {
    static func main() throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        try monitor.watch(FoundationLoop(RunLoop.main))

        // Its events come on the main queue, which the run loop serves.
        let input = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
        input.setEventHandler {
            guard let line = readLine() else {
                monitor.stop()
                exit(0)
            }
            MainActor.assumeIsolated { answer(line) }
        }
        input.resume()
        RunLoop.main.run()
    }

    @MainActor static func answer(_ line: String) {
        let words = line.split(separator: " ")
        switch words.first {
        case "digest": printAnswer("digest \(digest(milliseconds: words.last.flatMap { Int($0) } ?? 500))")
        case "hello": printAnswer("hello")
        default: printAnswer("hello or digest N is wanted, not '\(line)'")
        }
    }

    @inline(never) static func digest(milliseconds: Int) -> UInt64 {
        let end = MonotonicTime.now + .milliseconds(milliseconds)
        var digest: UInt64 = 14_695_981_039_346_656_037
        while MonotonicTime.now < end { digest = (digest ^ 0x2f) &* 1_099_511_628_211 }
        return digest
    }

    /// Answers go to standard error; records have standard output to themselves.
    private static func printAnswer(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
