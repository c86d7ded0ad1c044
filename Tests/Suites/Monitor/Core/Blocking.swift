import Dispatch
import Glibc
import LagMonitor
import Synchronization
import TestSupport

// What the tests let a loop do. The tests search the records for these names.

@inline(never) func blockForTheTest(milliseconds: Int) {
    usleep(UInt32(milliseconds) * 1000)
}

/// Blocks until the test has seen what it waits for; the limit only protects against a hang.
@inline(never) @discardableResult func blockForTheTest(until end: DispatchSemaphore) -> Bool {
    end.wait(timeout: .now() + .seconds(100)) == .success
}

@inline(never) @discardableResult func spinForTheTest(milliseconds: Int) -> ProcessorTime {
    ProcessorTime.compute(milliseconds: milliseconds)
}

@inline(never) func otherBlockForTheTest(milliseconds: Int) {
    usleep(UInt32(milliseconds) * 1000)
}

/// One stall, measured by the callback itself.
final class Injected: Sendable {
    private let times = Mutex<(begin: UInt64, end: UInt64)>((0, 0))
    /// When it was submitted to the loop.
    let submitted = MonotonicTime.now.nanoseconds

    /// Runs `body` on the loop and returns at once.
    init(on thread: KeepAliveThread, _ body: @escaping @Sendable () -> Void) {
        thread.perform {
            let begin = MonotonicTime.now.nanoseconds
            self.times.withLock { $0.begin = begin }
            body()
            let end = MonotonicTime.now.nanoseconds
            self.times.withLock { $0.end = end }
        }
    }

    var hasBegun: Bool { times.withLock { $0.begin > 0 } }
    var isOver: Bool { times.withLock { $0.end > 0 } }
    var begin: UInt64 { times.withLock { $0.begin } }
    var end: UInt64 { times.withLock { $0.end } }
    var nanoseconds: UInt64 { times.withLock { $0.end - $0.begin } }

    /// How a record's duration compares with the real one.
    func ratio(_ milliseconds: Double) -> Double { milliseconds * 1e6 / Double(nanoseconds) }

    /// Whether a record's duration is that of the stretch of work: it contains the callback, and ends when the loop rests.
    /// - Parameter rest: read when the loop was seen at rest.
    func fits(_ milliseconds: Double, restingAt rest: UInt64) -> Bool {
        (Double(nanoseconds)...Double(rest - submitted) + 1000).contains(milliseconds * 1e6)
    }
}

extension StallMonitorStatistics {
    /// Without what the whole machine does to the process.
    var withoutPauses: StallMonitorStatistics {
        var rest = self
        rest.pauses = Pauses()
        return rest
    }
}

/// The kernel's names for this process's threads.
func threadNames() -> [String] {
    guard let directory = opendir("/proc/self/task") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let tid = withUnsafePointer(to: &entry.pointee.d_name) {
            String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
        guard let file = fopen("/proc/self/task/\(tid)/comm", "r") else { continue }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        guard fgets(&buffer, 64, file) != nil else { continue }
        names.append(String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    return names
}

/// Whether the engine's threads exist.
var engineRuns: Bool { threadNames().contains { $0.hasPrefix("lag-") } }
/// A joined thread is listed a moment longer, until the kernel has removed it.
var engineEnds: Bool { eventually(seconds: 5) { !engineRuns } }
