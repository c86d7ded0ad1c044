internal import CLagLinux
internal import CLagRemote
internal import Synchronization

extension LoopExaminer {
    /// Whether the thread was only seen to wait for no descriptor, and is not declared to be a loop. (A loop whose last
    /// descriptor is closed at its end still counts as a loop.)
    var waitsForTimeAlone: Bool {
        !isDeclared && isTimeAlone.load(ordering: .relaxed)
    }

    /// Call it when the process publishes that the thread serves a connection. If a wait with `poll` or `select` returns at once,
    /// because clients of the server already wait, the kernel never shows its object: if the process has only one listening
    /// socket, the connection came from that.
    ///
    /// This holds only for this stretch of work, and for the main thread: a pool thread that serves a connection waits on that
    /// connection.
    func recordService(stretch: UInt64) {
        guard tid == process.pid else { return }
        let isNew = state.withLock { state in
            guard state.object == nil, !state.isRing, !state.isRefused, state.servedStretch != stretch else { return false }
            (state.servedStretch, state.served) = (stretch, nil)
            return true
        }
        guard isNew else { return }
        // Without the lock, because it takes 3 µs per descriptor.
        let served = WaitObject(loneListenerOf: process.pid, pidfd: process.descriptor)
        state.withLock { $0.served = served }
    }

    /// Whether a client waits to be accepted at the loop's object (``WaitObject/hasWaitingClient(pidfd:process:)``).
    var hasWaitingClient: Bool { hasWaitingClient(at: state.withLock { $0.object ?? $0.served }) }

    /// Call it without the lock, because for a set it takes some 3 µs per descriptor of the process.
    func hasWaitingClient(at object: WaitObject?) -> Bool {
        object?.hasWaitingClient(pidfd: process.descriptor, process: process.pid) == true
    }

    /// Whether a thread that sleeps in this call accepts a connection at a listening socket of its loop's object.
    func isAccepting(in call: cll_thread_syscall) -> Bool {
        var call = call
        return state.withLock { $0.object?.isAccepted(in: &call, process: process.pid) == true }
    }

    /// Whether the process has closed what the loop waits on. Takes 1 µs, and for a set as much for each descriptor.
    var isObjectClosed: Bool { state.withLock { $0.object?.isClosed(by: process.pid) == true } }
}
