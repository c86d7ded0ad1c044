internal import LagDetection
internal import LagModel
internal import LagMonitor

/// Lines that a separate thread writes, so that the reporting thread never waits for a reader.
///
/// Not a dispatch queue: if the system cannot start a thread (`RLIMIT_NPROC`, a container's `pids.max`), libdispatch blocks the
/// submitting thread until it can. Here ``start(most:write:)`` fails instead, before anything is queued.
final class MessageQueue: Sendable {
    private struct State {
        var waiting: [[UInt8]] = []
        /// The queued lines, and the one that is being written.
        var unwritten = 0
        var dropped = 0
    }

    private let state = PthreadMutex(State())
    private let posted = WakeSemaphore()
    /// The queue's capacity; further lines are dropped and counted.
    private let most: Int
    private let write: @Sendable ([UInt8]) -> Void

    private init(most: Int, write: @escaping @Sendable ([UInt8]) -> Void) { (self.most, self.write) = (most, write) }

    /// Starts a queue whose thread runs until the process exits, with signals blocked.
    /// - Parameter write: called on that thread; may block forever.
    /// - Returns: nil if the system cannot start the thread.
    static func start(most: Int, write: @escaping @Sendable ([UInt8]) -> Void) -> MessageQueue? {
        let queue = MessageQueue(most: most, write: write)
        let thread = try? WorkerThread(name: "lag-messages", submitsToQueues: false) { queue.run() }
        return thread == nil ? nil : queue
    }

    /// Any thread; never waits.
    func add(_ line: [UInt8]) {
        let isTaken = state.withLock { state in
            guard state.unwritten < most else {
                state.dropped += 1
                return false
            }
            state.unwritten += 1
            state.waiting.append(line)
            return true
        }
        if isTaken { posted.post() }
    }

    private func run() {
        while true {
            _ = posted.wait(until: .max)
            while let (lines, dropped) = take() {
                for line in lines {
                    write(line)
                    state.withLock { $0.unwritten -= 1 }
                }
                if dropped > 0 { write(Diagnostics.line("\(dropped) messages were dropped: stderr is not read")) }
            }
        }
    }

    /// nil: no line is queued, and none was dropped.
    private func take() -> (lines: [[UInt8]], dropped: Int)? {
        state.withLock { state in
            guard !state.waiting.isEmpty || state.dropped > 0 else { return nil }
            defer { (state.waiting, state.dropped) = ([], 0) }
            return (state.waiting, state.dropped)
        }
    }

    /// Whether all lines are written.
    var isEmpty: Bool { state.withLock { $0.unwritten == 0 } }
}
