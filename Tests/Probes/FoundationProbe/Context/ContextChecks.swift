import Dispatch
import Foundation
import LagModel
import LagMonitor
import LagMonitorConcurrency
import Synchronization
import TestSupport

/// Checks of what a stalled thread was working on, in a separate process: they exit with 0 and `fine` on stdout, or with 1 and
/// the errors.
enum ContextChecks {
    static func run(_ name: String, only shape: String?) {
        switch name {
        case "shapes": Shapes.check(only: shape)
        case "contexts": Contexts.check()
        case "begin": Beginning.check()
        case "turns": Turns.check()
        default: FoundationProbe.fail("no such check")
        }
        print("fine")
    }
}

/// What was reported so far.
final class CollectedStalls: Sendable {
    private let stalls = PthreadMutex<[StallRecord]>([])

    /// A monitor whose stalls are collected here, with the work of the program.
    func recordingMonitor() -> StallMonitor {
        var configuration = StallMonitorConfiguration()
        configuration.contexts = .recorded
        let monitor = StallMonitor(configuration: configuration)
        monitor.onStall(queue: .global()) { self.add($0) }
        return monitor
    }

    func add(_ record: StallRecord) { stalls.withLock { $0.append(record) } }
    var count: Int { stalls.withLock { $0.count } }
    func records(from index: Int) -> [StallRecord] { stalls.withLock { Array($0[index...]) } }

    /// The stall of work that calls ``blockHere()``, and lasts until it is found; nil if it is not. On a busy machine, other work
    /// of the program stalls, too: if only that was found, the work is repeated.
    func record(of work: @Sendable () async throws -> Void, by monitor: StallMonitor) async throws -> StallRecord? {
        for _ in Attempts("a stall in blockHere") {
            let before = count
            presentSearch.withLock { $0 = StallSearch(monitor) }
            try await work()
            for _ in 0..<1000 {
                let found = records(from: before).first { $0.frames.contains { $0.symbol?.contains("blockHere") ?? false } }
                if let found { return found }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        return nil
    }
}

/// Runs a check on the pool while the main thread serves the main queue.
func runInTask(_ body: @escaping @Sendable () async throws -> Void) {
    let isDone = Atomic<Bool>(false)
    Task.detached(priority: .high) {
        do { try await body() } catch { FoundationProbe.fail("\(error)") }
        isDone.store(true, ordering: .releasing)
    }
    while !isDone.load(ordering: .acquiring) { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1)) }
}
