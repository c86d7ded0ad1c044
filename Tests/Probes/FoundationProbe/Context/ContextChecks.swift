import Dispatch
import Foundation
import LagModel
import LagMonitor
import LagMonitorConcurrency
import Synchronization

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
