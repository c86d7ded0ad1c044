internal import LagModel
internal import LagMonitor
internal import Synchronization

/// Counts stalls for `/metrics`, whether their lines were written or suppressed by a limit. Any thread.
///
/// Each number means the same as in the product LagMonitorMetrics: a stall counts once, with its last line.
final class StallCounts: Sendable {
    /// Upper bounds in seconds. Practical thresholds begin at 50 ms, and a minute is a hang by any measure.
    static let bounds: [Double] = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

    /// Identifies a loop: lagmond's own (neither target nor process), or one of a command.
    ///
    /// Programs choose the names: they are sanitized here (``PlainText``), so that names that look the same in a label are the
    /// same.
    struct LoopKey: Hashable, Comparable {
        /// The target's name, if there are several.
        let target: String?
        let process: String?
        let loop: String

        init(target: String? = nil, process: String? = nil, loop: String) {
            self.target = target.map(PlainText.sanitized)
            self.process = process.map(PlainText.sanitized)
            self.loop = PlainText.sanitized(loop)
        }

        /// The key for loops beyond ``StallCounts/maximumPlaces``.
        static func other(target: String?) -> LoopKey { LoopKey(target: target, process: "other", loop: "other") }

        static func < (left: LoopKey, right: LoopKey) -> Bool {
            (left.target ?? "", left.process ?? "", left.loop) < (right.target ?? "", right.process ?? "", right.loop)
        }
    }

    struct Series: Hashable {
        let place: LoopKey
        let cause: StallRecord.Cause
    }

    /// A stall whose request has a known trace.
    struct Exemplar: Equatable {
        let traceID: String
        let spanID: String
        let nanoseconds: UInt64
        /// When it ended, in milliseconds since 1970.
        let milliseconds: UInt64

        /// Nil if the trace is not known.
        init?(_ stall: LineFacts.Stall) {
            guard let traceID = stall.traceID, let spanID = stall.spanID else { return nil }
            (self.traceID, self.spanID, nanoseconds) = (traceID, spanID, stall.durationNanoseconds)
            milliseconds = stall.id.milliseconds.saturatingSum(nanoseconds / 1_000_000)
        }
    }

    struct Durations: Equatable {
        /// The count for each bound, and beyond the last; not cumulative.
        var buckets = [UInt64](repeating: 0, count: StallCounts.bounds.count + 1)
        /// The last exemplar of each bucket.
        var exemplars: [Int: Exemplar] = [:]
        var count: UInt64 = 0
        var nanoseconds: UInt64 = 0

        mutating func add(_ duration: UInt64, _ exemplar: Exemplar? = nil) {
            let seconds = Double(duration) / 1e9
            let bucket = StallCounts.bounds.firstIndex { seconds <= $0 } ?? StallCounts.bounds.count
            buckets[bucket] += 1
            if let exemplar { exemplars[bucket] = exemplar }
            count += 1
            nanoseconds.addSaturated(duration)
        }
    }

    struct Loop: Equatable {
        /// Hangs in progress: one for each process of that name.
        var inProgress: Set<StallID> = []
        /// When the last stall began, in milliseconds since 1970.
        var lastMilliseconds: UInt64?
    }

    struct Snapshot {
        var durations: [Series: Durations] = [:]
        var loops: [LoopKey: Loop] = [:]
    }

    /// Programs choose the names, and a collector keeps each series for weeks.
    static let maximumPlaces = 200

    private let state: Mutex<Snapshot>

    /// - Parameter places: the loops that are watched from the start.
    init(places: [LoopKey]) {
        state = Mutex(Snapshot())
        for place in places { register(place) }
    }

    var snapshot: Snapshot { state.withLock { $0 } }

    /// Its series exist from now on, at zero, so that the first stall is an increase.
    func register(_ place: LoopKey) { state.withLock { _ = Self.row(of: place, in: &$0) } }

    /// The values by series, after registering these places: for several values in one series, the highest.
    func rows(of values: [LoopKey: UInt64]) -> [LoopKey: UInt64] {
        state.withLock { state in
            // Sorted, so that the same places have their own series on every page.
            values.sorted { $0.key < $1.key }.reduce(into: [:]) { rows, value in
                let row = Self.row(of: value.key, in: &state)
                rows[row] = max(rows[row] ?? 0, value.value)
            }
        }
    }

    func count(_ stall: LineFacts.Stall, at place: LoopKey) {
        state.withLock { state in
            let place = Self.row(of: place, in: &state)
            state.loops[place]?.lastMilliseconds = stall.id.milliseconds
            guard stall.phase != .begin else {
                state.loops[place]?.inProgress.insert(stall.id)
                return
            }
            state.loops[place]?.inProgress.remove(stall.id)
            state.durations[Series(place: place, cause: stall.cause), default: Durations()]
                .add(stall.durationNanoseconds, Exemplar(stall))
        }
    }

    /// The stall is over, and no further record will report that.
    func forget(_ stall: StallID, at place: LoopKey) {
        state.withLock { state in
            let place = Self.row(of: place, in: &state)
            state.loops[place]?.inProgress.remove(stall)
        }
    }

    private static func row(of place: LoopKey, in state: inout Snapshot) -> LoopKey {
        if state.loops[place] != nil { return place }
        let row = state.loops.count < maximumPlaces ? place : LoopKey.other(target: place.target)
        guard state.loops[row] == nil else { return row }
        state.loops[row] = Loop()
        for cause in StallRecord.Cause.allCases { state.durations[Series(place: row, cause: cause)] = Durations() }
        return row
    }
}
