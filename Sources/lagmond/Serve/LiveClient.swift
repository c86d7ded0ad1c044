internal import Glibc
internal import LagMonitor
internal import Synchronization

/// The queue of one client of `/stalls`, bounded also for a slow one.
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
        var reader: CheckedContinuation<[UInt8]?, Never>?
    }

    private let state = Mutex(State())
    private let context: ProcessContext

    init(context: ProcessContext) { self.context = context }

    /// The reporter's thread. Never waits.
    func take(_ line: [UInt8]) {
        state.withLock { state in
            guard !state.isOver else { return }
            guard state.waiting.count + line.count <= Self.maximumBytes else {
                state.lost += 1
                state.lostTotal += 1
                return
            }
            reportLosses(&state)
            state.waiting += line
            deliver(&state)
        }
    }

    /// An empty line for one who waits.
    func sendHeartbeat() {
        state.withLock { state in
            guard let reader = state.reader else { return }
            state.reader = nil
            reader.resume(returning: [UInt8(ascii: "\n")])
        }
    }

    /// No more lines; what waits is still handed on.
    func finish() {
        state.withLock { state in
            guard !state.isOver else { return }
            reportLosses(&state)
            state.isOver = true
            deliver(&state)
        }
    }

    /// What came since the last time; waits for a line or an end. nil: the end. One reader.
    func next() async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.reader?.resume(returning: nil)
                    state.reader = continuation
                    deliver(&state)
                }
            }
        } onCancel: {
            state.withLock { state in
                state.isOver = true
                state.waiting = []
                deliver(&state)
            }
        }
    }

    private func deliver(_ state: inout State) {
        guard let reader = state.reader, state.isOver || !state.waiting.isEmpty else { return }
        state.reader = nil
        reader.resume(returning: state.waiting.isEmpty ? nil : state.waiting)
        state.waiting = []
    }

    private func reportLosses(_ state: inout State) {
        guard state.lost > 0 else { return }
        let notice = Notice.dropped(state.lost, .sinkSlow, total: state.lostTotal, time: .now())
        var encoder = RecordEncoder(context: context)
        encoder.encode(notice) { state.waiting += $0 }
        state.lost = 0
    }
}
