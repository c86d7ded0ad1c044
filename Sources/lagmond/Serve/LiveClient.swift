internal import Glibc
internal import LagMonitor
internal import Synchronization

/// The queue of one client of `/stalls`; bounded, even if the client is slow.
///
/// Lines that did not fit are counted, and reported by a `dropped` line (`sink_slow`) before the next line that does.
final class LiveClient: Sendable {
    static let maximumBytes = 1 << 20

    private struct State {
        var waiting: [UInt8] = []
        /// Lost since the last `dropped` line, and in all.
        var lost: UInt64 = 0
        var lostTotal: UInt64 = 0
        var isOver = false
        /// Whether the client requested lines when there were none.
        var isAwaited = false
    }

    enum Next: Equatable {
        case lines([UInt8])
        case nothing
        case end
    }

    private let state = Mutex(State())
    private let context: ProcessContext
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called once when ``next()`` has lines again after it had none. It must not block.
    init(context: ProcessContext, wake: @escaping @Sendable () -> Void) {
        self.context = context
        self.wake = wake
    }

    /// The reporter's thread. Never waits.
    func take(_ line: [UInt8]) {
        change { state in
            guard !state.isOver else { return }
            guard state.waiting.count + line.count <= Self.maximumBytes else {
                state.lost += 1
                state.lostTotal += 1
                return
            }
            reportLosses(&state)
            state.waiting += line
        }
    }

    /// Sends an empty line to a waiting client.
    func sendHeartbeat() {
        change { state in
            if state.isAwaited { state.waiting.append(UInt8(ascii: "\n")) }
        }
    }

    /// No more lines; queued lines are still delivered.
    func finish() {
        change { state in
            guard !state.isOver else { return }
            reportLosses(&state)
            state.isOver = true
        }
    }

    /// The client is gone.
    func cancel() {
        state.withLock { state in
            state.isOver = true
            state.waiting = []
        }
    }

    /// The lines since the last call. One reader.
    func next() -> Next {
        state.withLock { state in
            if !state.waiting.isEmpty {
                defer { state.waiting = [] }
                return .lines(state.waiting)
            }
            if state.isOver { return .end }
            state.isAwaited = true
            return .nothing
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let isDue = state.withLock { state in
            body(&state)
            guard state.isAwaited, state.isOver || !state.waiting.isEmpty else { return false }
            state.isAwaited = false
            return true
        }
        if isDue { wake() }
    }

    private func reportLosses(_ state: inout State) {
        guard state.lost > 0 else { return }
        let notice = Notice.dropped(state.lost, .sinkSlow, total: state.lostTotal, time: .now())
        var encoder = RecordEncoder(context: context)
        encoder.encode(notice) { state.waiting += $0 }
        state.lost = 0
    }
}
