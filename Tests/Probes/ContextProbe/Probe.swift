import Dispatch
import Foundation
import LagModel
import LagMonitor
import LagMonitorConcurrency
import Synchronization

/// Checks of what a stalled thread was working at, in a process of its own: they exit with 0 and `fine` on stdout, or with 1 and what was wrong.
@main struct Probe {
    static func main() {
        let arguments = CommandLine.arguments
        switch arguments.dropFirst().first {
        case "shapes": Shapes.check(only: arguments.dropFirst(2).first)
        case "contexts": Contexts.check()
        case "begin": Beginning.check()
        default: fail("no such check")
        }
        print("fine")
    }

    static func fail(_ message: String) -> Never {
        print(message)
        fflush(nil)
        exit(1)
    }
}

/// What was reported so far.
final class CollectedStalls: Sendable {
    private let stalls = PthreadMutex<[StallRecord]>([])

    func add(_ record: StallRecord) { stalls.withLock { $0.append(record) } }
    var count: Int { stalls.withLock { $0.count } }
    func records(from index: Int) -> [StallRecord] { stalls.withLock { Array($0[index...]) } }
}

/// Runs a check on the pool while the main thread serves the main queue.
func runInTask(_ body: @escaping @Sendable () async throws -> Void) {
    let isDone = Atomic<Bool>(false)
    Task.detached(priority: .high) {
        do { try await body() } catch { Probe.fail("\(error)") }
        isDone.store(true, ordering: .releasing)
    }
    while !isDone.load(ordering: .acquiring) { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1)) }
}
