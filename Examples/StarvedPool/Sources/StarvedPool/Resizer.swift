import Dispatch
import Foundation
import LagMonitor
import LagMonitorConcurrency

/// A program that reads a number from each line and makes that many thumbnails, each in a task. Its mistake is common in code
/// that was made asynchronous only on the outside: a task blocks on a semaphore until another task has done its work. If as many
/// tasks block at once as the pool has threads, no thread is left for the tasks that they wait for.
@main enum Resizer {
    static func main() throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        // Pings, because the problem is not one slow task: it is that no thread is left for other tasks.
        try monitor.watchConcurrencyPool(rules: .pings)

        while let line = readLine() {
            for _ in 0..<(Int(line) ?? 1) { Task.detached { printAnswer(makeThumbnail()) } }
        }
        monitor.stop()
    }

    /// Synchronous for its callers, asynchronous inside.
    @inline(never) static func makeThumbnail() -> String {
        let decoded = DispatchSemaphore(value: 0)
        let decoding = Task.detached {
            try? await Task.sleep(for: .milliseconds(20))
            decoded.signal()
        }
        // Code that does this must at least time out.
        let isDone = decoded.wait(timeout: .now() + .seconds(2)) == .success
        decoding.cancel()
        return isDone ? "thumbnail" : "gave up"
    }

    /// Answers go to standard error. Standard output is for records only.
    private static func printAnswer(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
