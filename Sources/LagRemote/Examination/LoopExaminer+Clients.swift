internal import Synchronization

extension LoopExaminer {
    /// The thread serves a connection, as its process says. Where a wait by `poll` or `select` is over at once, as of a server for which clients wait already, the kernel
    /// never shows what it was for: that connection came by the process's only listening socket, then, if it has one alone.
    ///
    /// That is so for this stretch of work, and of the main thread: one of a pool that serves a connection waits at its own.
    func recordService(stretch: UInt64) {
        guard tid == process.pid else { return }
        let isNew = state.withLock { state in
            guard state.object == nil, !state.isRing, !state.isRefused, state.servedStretch != stretch else { return false }
            (state.servedStretch, state.served) = (stretch, nil)
            return true
        }
        guard isNew else { return }
        // Without the lock: 3 µs a descriptor.
        let served = WaitObject(loneListenerOf: process.pid, pidfd: process.descriptor)
        state.withLock { $0.served = served }
    }

    /// Whether a client waits to be accepted at what the loop waits on (``WaitObject/hasWaitingClient(pidfd:process:)``).
    var hasWaitingClient: Bool {
        // Without the lock: of a set that takes some 3 µs a descriptor of the process.
        state.withLock { $0.object ?? $0.served }?.hasWaitingClient(pidfd: process.descriptor, process: process.pid) == true
    }
}
