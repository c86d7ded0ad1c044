internal import Synchronization

/// The timers of a loop that are in the same modes: a binary heap, the earliest first. Guarded by the lock of the loop's registry.
///
/// Each timer knows its place (``RunLoopTimer/heapPlace``), so that one in the middle can be moved or taken out without a search.
/// Cost: adding, moving and taking out are O(log n); the earliest is O(1).
// Sendable without a check: only with the registry's lock held is anything in here read or written.
final class TimerHeap: @unchecked Sendable {
    struct Entry {
        /// When the timer is due, in nanoseconds of the monotonic clock; `.max` while its handler runs.
        var due: UInt64
        /// Among those due at the same time, the order in which they were set.
        var sequence: UInt64
        /// Unmanaged, because a move within the heap must not cost a pair of atomic operations: the heap retains a timer when it comes in
        /// and releases it when it goes out.
        let timer: Unmanaged<RunLoopTimer>

        static func < (left: Entry, right: Entry) -> Bool {
            left.due < right.due || (left.due == right.due && left.sequence < right.sequence)
        }
    }

    /// The modes that every timer in here is in.
    let modes: TimerModes

    private var entries: [Entry] = []
    /// How many have a tolerance. Without any, the first entry says until when the loop may sleep.
    private var tolerantTimers = 0
    /// How many belong to tickers.
    private var tickers = 0
    private static let keptCapacity = 256

    init(modes: TimerModes) { self.modes = modes }

    deinit { for entry in entries { entry.timer.release() } }

    var isEmpty: Bool { entries.isEmpty }
    var first: Entry? { entries.first }

    /// Whether there is a timer that a run goes on for.
    var hasTimersToWaitFor: Bool { entries.count > tickers }

    var timers: [RunLoopTimer] { entries.map { $0.timer.takeUnretainedValue() } }

    func insert(_ timer: RunLoopTimer, due: UInt64, sequence: UInt64) {
        entries.append(Entry(due: due, sequence: sequence, timer: Unmanaged.passRetained(timer)))
        count(timer, 1)
        timer.countedAsTolerant = timer.hasTolerance
        if timer.countedAsTolerant { tolerantTimers += 1 }
        siftUp(entries.count - 1)
    }

    /// Takes a timer out that is in here.
    /// - Returns: its entry; the heap does not retain its timer any more.
    @discardableResult
    func remove(_ timer: RunLoopTimer) -> Entry {
        let place = timer.heapPlace.load(ordering: .relaxed)
        let entry = entries[place]
        let last = entries.removeLast()
        if place < entries.count {
            entries[place] = last
            restore(place)
        }
        // A burst leaves no memory behind.
        if entries.isEmpty, entries.capacity > Self.keptCapacity { entries = [] }
        count(timer, -1)
        if timer.countedAsTolerant { tolerantTimers -= 1 }
        timer.heapPlace.store(RunLoopTimer.noPlace, ordering: .relaxed)
        // The caller holds the timer: this is not its end.
        entry.timer.release()
        return entry
    }

    /// Gives a timer that is in here another time.
    func move(_ timer: RunLoopTimer, due: UInt64, sequence: UInt64) {
        let place = timer.heapPlace.load(ordering: .relaxed)
        entries[place].due = due
        entries[place].sequence = sequence
        if timer.countedAsTolerant != timer.hasTolerance {
            timer.countedAsTolerant.toggle()
            tolerantTimers += timer.countedAsTolerant ? 1 : -1
        }
        restore(place)
    }

    /// Until when the loop may sleep on account of these timers, in nanoseconds.
    ///
    /// O(1) when none has a tolerance, otherwise as many steps as timers that the loop can serve with that wake.
    var latestWake: UInt64 {
        guard let first = entries.first else { return .max }
        if tolerantTimers == 0 || first.due == .max { return first.due }
        var latest = UInt64.max
        lowerLatest(&latest, from: 0)
        return latest
    }

    /// Only what is due before that can make it earlier, and all below an entry are due later than it is.
    private func lowerLatest(_ latest: inout UInt64, from place: Int) {
        guard place < entries.count, entries[place].due < latest else { return }
        latest = min(latest, entries[place].timer._withUnsafeGuaranteedRef { $0.latestFire })
        lowerLatest(&latest, from: 2 * place + 1)
        lowerLatest(&latest, from: 2 * place + 2)
    }

    private func count(_ timer: RunLoopTimer, _ difference: Int) {
        if timer.belongsToTicker { tickers += difference }
    }

    private func restore(_ place: Int) {
        if place > 0, entries[place] < entries[(place - 1) / 2] { siftUp(place) } else { siftDown(place) }
    }

    private func siftUp(_ start: Int) {
        entries.withUnsafeMutableBufferPointer { entries in
            let entry = entries[start]
            var place = start
            while place > 0 {
                let parent = (place - 1) / 2
                guard entry < entries[parent] else { break }
                Self.put(entries[parent], at: place, in: entries)
                place = parent
            }
            Self.put(entry, at: place, in: entries)
        }
    }

    private func siftDown(_ start: Int) {
        entries.withUnsafeMutableBufferPointer { entries in
            let entry = entries[start]
            var place = start
            while true {
                var child = 2 * place + 1
                guard child < entries.count else { break }
                if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
                guard entries[child] < entry else { break }
                Self.put(entries[child], at: place, in: entries)
                place = child
            }
            Self.put(entry, at: place, in: entries)
        }
    }

    private static func put(_ entry: Entry, at place: Int, in entries: UnsafeMutableBufferPointer<Entry>) {
        entries[place] = entry
        entry.timer._withUnsafeGuaranteedRef { $0.heapPlace.store(place, ordering: .relaxed) }
    }
}
