#if ServiceLifecycle
    internal import Dispatch

    /// What one run of a service does that may wait, one thing after the other: neither a thread of the concurrency pool nor the main thread has time
    /// for it. Any thread.
    // Unchecked: `isOver` is used in the queue's blocks alone, which run one after the other.
    final class ServiceRun: @unchecked Sendable {
        private let queue = DispatchQueue(label: "LagMonitor.service")
        private var isOver = false

        func perform(_ work: @escaping @Sendable () throws -> Void) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                queue.async { continuation.resume(with: Result { try work() }) }
            }
        }

        /// Does it when the main queue answers, unless the run is over then. The main thread only passes it on.
        func whenMainAnswers(_ work: @escaping @Sendable () -> Void) {
            DispatchQueue.main.async { [weak self] in
                guard let self else { return }
                queue.async { if !self.isOver { work() } }
            }
        }

        /// The last that it does.
        func end(_ work: @escaping @Sendable () -> Void) async {
            try? await perform {
                self.isOver = true
                work()
            }
        }
    }
#endif
