internal import Synchronization

extension LoopExaminer {
    /// The thread serves a connection, as its process says. Where a wait by `poll` or `select` is over at once, as of a server for which clients wait already, the kernel
    /// never shows what it was for: that connection came by the process's only listening socket, then, if it has one alone.
    func recordService(stretch: UInt64) {
        state.withLock { state in
            guard state.object == nil, !state.isRing, !state.isRefused, state.servedStretch != stretch else { return }
            state.servedStretch = stretch
            state.object = WaitObject(loneListenerOf: process.pid, pidfd: process.descriptor)
        }
    }

    /// Whether a client waits to be accepted at what the loop waits on (``WaitObject/hasWaitingClient(pidfd:process:)``).
    var hasWaitingClient: Bool {
        // Without the lock: of a set that takes some 3 µs a descriptor of the process.
        state.withLock { $0.object }?.hasWaitingClient(pidfd: process.descriptor, process: process.pid) == true
    }
}
