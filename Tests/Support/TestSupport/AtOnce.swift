internal import Foundation

/// Runs `body` for each of the cases at the same time, each on a new thread: for tests that wait for programs, which use little
/// processor time. Expectations in it are recorded for the calling test.
public func atOnce<Case: Sendable>(_ cases: [Case], _ body: @escaping @Sendable (Case) throws -> Void) async throws {
    let threads = OwnThreads()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for one in cases { group.addTask(executorPreference: threads) { try body(one) } }
        try await group.waitForAll()
    }
}

/// A thread per job: a body that waits would occupy one of the few threads of Swift's pool.
private final class OwnThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        Thread.detachNewThread { job.runSynchronously(on: executor) }
    }
}
