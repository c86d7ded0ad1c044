import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency

/// A program that makes thumbnails, one for each number that it reads, in tasks. Its mistake is the usual one of code that was made
/// asynchronous from the outside: a task waits on a semaphore for what another task is to do. As many of them at once as there are
/// threads in the pool, and none is left for what they wait for.
@main enum Resizer {
    static func main() throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        // By pings: none of the tasks is the mistake, that no thread is left for another one is.
        try monitor.watchConcurrencyPool(rules: .pings)

        while let line = readLine() {
            for _ in 0..<(Int(line) ?? 1) { Task.detached { printAnswer(makeThumbnail()) } }
        }
        monitor.stop()
    }

    /// Synchronous for its callers, with an asynchronous inside.
    @inline(never) static func makeThumbnail() -> String {
        let decoded = DispatchSemaphore(value: 0)
        let decoding = Task.detached {
            try? await Task.sleep(for: .milliseconds(20))
            decoded.signal()
        }
        // Whoever does this has at least to give up some time.
        let isDone = decoded.wait(timeout: .now() + .seconds(2)) == .success
        decoding.cancel()
        return isDone ? "thumbnail" : "gave up"
    }

    /// Answers go to standard error; records have standard output to themselves.
    private static func printAnswer(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
