#if ServiceLifecycle
    internal import Dispatch

    /// The blocking steps of one run of a service, one after the other: neither a thread of the concurrency pool nor the main
    /// thread may wait for them. Any thread.
    // Unchecked: only the queue's blocks use `isOver`, and they run one after the other.
    final class ServiceRun: @unchecked Sendable {
        private let queue = DispatchQueue(label: "LagMonitor.service")
        private var isOver = false

        func perform(_ work: @escaping @Sendable () throws -> Void) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                queue.async { continuation.resume(with: Result { try work() }) }
            }
        }

        /// Runs it when the main queue answers, unless the run is over then. The main thread only forwards it.
        func whenMainAnswers(_ work: @escaping @Sendable () -> Void) {
            DispatchQueue.main.async { [weak self] in
                guard let self else { return }
                queue.async { if !self.isOver { work() } }
            }
        }

        /// Runs the last step.
        func end(_ work: @escaping @Sendable () -> Void) async {
            try? await perform {
                self.isOver = true
                work()
            }
        }
    }
#endif
