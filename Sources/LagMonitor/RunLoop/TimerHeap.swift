internal import Synchronization

/// A loop's timers that are in the same modes: a binary heap, the earliest first. Guarded by the lock of the loop's registry.
///
/// Each timer knows its place (``RunLoopTimer/heapPlace``), so that one in the middle can be moved or removed without a search.
/// Cost: adding, moving and removing are O(log n); the earliest is O(1).
// Sendable without a check: everything here is read and written only with the registry's lock held.
final class TimerHeap: @unchecked Sendable {
    struct Entry {
        /// When the timer is due, in nanoseconds of the monotonic clock; `.max` while its handler runs.
        var due: UInt64
        /// The order in which those due at the same time were set.
        var sequence: UInt64
        /// Until when the loop may sleep, given this timer and those below it in the heap.
        var latestWake: UInt64 = .max
        /// Unmanaged, because a move within the heap must not cost a pair of atomic operations: the heap retains a timer when it
        /// is added and releases it when it is removed.
        let timer: Unmanaged<RunLoopTimer>

        static func < (left: Entry, right: Entry) -> Bool {
            left.due < right.due || (left.due == right.due && left.sequence < right.sequence)
        }
    }

    /// The modes that every timer in here is in.
    let modes: TimerModes

    private var entries: [Entry] = []
    /// How many belong to tickers.
    private var tickers = 0
    private static let keptCapacity = 256

    init(modes: TimerModes) { self.modes = modes }

    deinit { for entry in entries { entry.timer.release() } }

    var isEmpty: Bool { entries.isEmpty }
    var first: Entry? { entries.first }

    /// Whether there is a timer that keeps a run going.
    var hasTimersToWaitFor: Bool { entries.count > tickers }

    var timers: [RunLoopTimer] { entries.map { $0.timer.takeUnretainedValue() } }

    func insert(_ timer: RunLoopTimer, due: UInt64, sequence: UInt64) {
        entries.append(Entry(due: due, sequence: sequence, timer: Unmanaged.passRetained(timer)))
        count(timer, 1)
        let last = entries.count - 1
        siftUp(last)
        updateLatestWakes(from: last)
    }

    /// Removes a timer from this heap.
    /// - Returns: its entry; the heap no longer retains its timer.
    @discardableResult
    func remove(_ timer: RunLoopTimer) -> Entry {
        let place = timer.heapPlace.load(ordering: .relaxed)
        let entry = entries[place]
        let last = entries.removeLast()
        updateLatestWakes(from: (entries.count - 1) / 2)
        if place < entries.count {
            entries[place] = last
            restore(place)
        }
        // Do not keep a burst's memory.
        if entries.isEmpty, entries.capacity > Self.keptCapacity { entries = [] }
        count(timer, -1)
        timer.heapPlace.store(RunLoopTimer.noPlace, ordering: .relaxed)
        // The caller holds the timer: this does not deallocate it.
        entry.timer.release()
        return entry
    }

    /// Changes the date of a timer in this heap.
    func move(_ timer: RunLoopTimer, due: UInt64, sequence: UInt64) {
        let place = timer.heapPlace.load(ordering: .relaxed)
        entries[place].due = due
        entries[place].sequence = sequence
        restore(place)
    }

    /// Until when the loop may sleep, given these timers, in nanoseconds. O(1).
    var latestWake: UInt64 { entries.first?.latestWake ?? .max }

    /// After a change at `place`: updates that entry and all above it.
    private func updateLatestWakes(from place: Int) {
        entries.withUnsafeMutableBufferPointer { entries in
            var place = place
            while place < entries.count {
                // While its handler runs, its next date is not known.
                let isFiring = entries[place].due == .max
                // If another thread is setting it, its date may be ahead of its place here.
                let due = entries[place].due
                var latest = isFiring ? .max : max(due, entries[place].timer._withUnsafeGuaranteedRef { $0.latestFire })
                for child in (2 * place + 1)..<min(2 * place + 3, max(entries.count, 2 * place + 1)) {
                    latest = min(latest, entries[child].latestWake)
                }
                entries[place].latestWake = latest
                if place == 0 { break }
                place = (place - 1) / 2
            }
        }
    }

    private func count(_ timer: RunLoopTimer, _ difference: Int) {
        if timer.belongsToTicker { tickers += difference }
    }

    private func restore(_ place: Int) {
        let lowest = place > 0 && entries[place] < entries[(place - 1) / 2] ? place : siftDown(place)
        if lowest == place { siftUp(place) }
        updateLatestWakes(from: lowest)
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

    /// - Returns: its new place.
    private func siftDown(_ start: Int) -> Int {
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
            return place
        }
    }

    private static func put(_ entry: Entry, at place: Int, in entries: UnsafeMutableBufferPointer<Entry>) {
        entries[place] = entry
        entry.timer._withUnsafeGuaranteedRef { $0.heapPlace.store(place, ordering: .relaxed) }
    }
}
