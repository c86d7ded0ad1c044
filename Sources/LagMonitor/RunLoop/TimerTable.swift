internal import Synchronization

/// All timers of a loop, in one heap for each set of modes that timers are in. Guarded by the lock of the loop's registry.
///
/// A timer is in one heap at a time, even if it is in several modes: when its date changes, it moves in one place. A run in a
/// mode serves all heaps whose set has that mode; a program has few such sets.
struct TimerTable: Sendable {
    /// What a run in a mode must know about its timers.
    struct Plan: Sendable {
        /// When the earliest is due, in nanoseconds of the monotonic clock.
        var nextFire: UInt64 = .max
        /// Until when the loop may sleep for them.
        var latestFire: UInt64 = .max
        /// Whether there is a timer that keeps a run going. Tickers' timers do not: an observer must not keep a run going.
        var hasTimersToWaitFor = false
    }

    private var heaps: [TimerHeap] = []
    private var lastSequence: UInt64 = 0
    /// The time up to which timers were served last. A timer set to an earlier time is late, and comes after those that were late
    /// already: a turn does not fire timers that are set while it fires timers.
    private var servedUntil: UInt64 = 0
    /// Until when the loop sleeps, according to the last plan. A later timer does not have to wake it.
    private var plannedUntil: UInt64 = .max

    // MARK: Changes. Each returns whether a sleeping loop has to be woken for it.

    /// Adds to a mode, or to the set of common modes. The timer must belong to this loop.
    mutating func add(_ timer: RunLoopTimer, to mode: RunLoopMode, common: [RunLoopMode]) -> Bool {
        // The usual case: one mode, which has a heap. No list of modes is allocated for it.
        if timer.heap == nil, let known = heaps.first(where: { $0.modes.isOnly(mode) }) { return insert(timer, in: known) }
        var modes = timer.heap?.modes ?? TimerModes(numbers: [], isCommon: false, isEvery: false)
        if mode == .common {
            // Adding it again does not restore modes that it has since been removed from.
            guard !modes.isCommon else { return false }
            modes.isCommon = true
            for member in common { modes.insert(member) }
        } else {
            modes.insert(mode)
        }
        return move(timer, to: modes)
    }

    mutating func addToEveryMode(_ timer: RunLoopTimer) -> Bool { move(timer, to: .every) }

    /// Removes from a mode, or from the set of common modes and each of its members. The timer must belong to this loop.
    mutating func remove(_ timer: RunLoopTimer, from mode: RunLoopMode, common: [RunLoopMode]) -> Bool {
        guard var modes = timer.heap?.modes else { return false }
        if mode == .common {
            guard modes.isCommon else { return false }
            modes.isCommon = false
            for member in common { modes.remove(member) }
        } else {
            modes.remove(mode)
        }
        return move(timer, to: modes)
    }

    /// Removes from everywhere. The timer must belong to this loop.
    mutating func remove(_ timer: RunLoopTimer) -> Bool {
        guard let heap = timer.heap else { return false }
        heap.remove(timer)
        timer.heap = nil
        return heap.isEmpty
    }

    /// The timer's date, its tolerance or its firing state has changed. The timer must belong to this loop.
    mutating func update(_ timer: RunLoopTimer) -> Bool {
        guard let heap = timer.heap else { return false }
        heap.move(timer, due: due(timer), sequence: nextSequence())
        return timer.latestFire < plannedUntil
    }

    /// Adds every timer of the common modes to `mode`, too.
    mutating func addCommonMode(_ mode: RunLoopMode) {
        for heap in heaps where heap.modes.isCommon {
            var modes = heap.modes
            modes.insert(mode)
            for timer in heap.timers { _ = move(timer, to: modes) }
        }
    }

    mutating func removeAll() -> [RunLoopTimer] {
        let timers = heaps.flatMap(\.timers)
        for timer in timers { _ = remove(timer) }
        heaps = []
        return timers
    }

    // MARK: For the loop's own thread

    mutating func plan(for mode: RunLoopMode) -> Plan {
        var plan = Plan()
        for heap in heaps where !heap.isEmpty && heap.modes.contains(mode) {
            plan.nextFire = min(plan.nextFire, heap.first?.due ?? .max)
            plan.latestFire = min(plan.latestFire, heap.latestWake)
            plan.hasTimersToWaitFor = plan.hasTimersToWaitFor || heap.hasTimersToWaitFor
        }
        plannedUntil = plan.latestFire
        return plan
    }

    /// The earliest timer of `mode` that is due at `clock`, and its date. From now on it counts as being fired.
    mutating func beginFiring(in mode: RunLoopMode, at clock: UInt64) -> (timer: RunLoopTimer, date: UInt64)? {
        servedUntil = max(servedUntil, clock)
        var earliest: (entry: TimerHeap.Entry, heap: TimerHeap)?
        for heap in heaps where heap.modes.contains(mode) {
            guard let first = heap.first, first.due <= clock else { continue }
            if let earliest, !(first < earliest.entry) { continue }
            earliest = (first, heap)
        }
        guard let (entry, heap) = earliest else { return nil }
        let timer = entry.timer.takeUnretainedValue()
        // Another thread may be about to set it to a later date, and waits for the lock to move it.
        let date = min(timer.nextFire, clock)
        timer.isFiring.store(true, ordering: .relaxed)
        heap.move(timer, due: .max, sequence: entry.sequence)
        return (timer, date)
    }

    /// The delayed work that `matches` and has not begun.
    func delayedWork(where matches: (PerformKey?) -> Bool) -> [RunLoopTimer] {
        heaps.flatMap(\.timers).filter { timer in
            guard case .work(let key) = timer.purpose, !timer.isFiring.load(ordering: .relaxed) else { return false }
            return matches(key)
        }
    }

    func contains(_ timer: RunLoopTimer) -> Bool { timer.heap != nil }

    // MARK: Internal

    private mutating func move(_ timer: RunLoopTimer, to modes: TimerModes) -> Bool {
        guard let old = timer.heap else { return insert(timer, in: heap(of: modes)) }
        if old.modes == modes { return false }
        // In an additional mode it keeps its place among those of the same date.
        let entry = old.remove(timer)
        timer.heap = nil
        guard !modes.isEmpty else { return old.isEmpty }
        let new = heap(of: modes)
        new.insert(timer, due: entry.due, sequence: entry.sequence)
        timer.heap = new
        return old.isEmpty || timer.latestFire < plannedUntil
    }

    private mutating func insert(_ timer: RunLoopTimer, in heap: TimerHeap) -> Bool {
        heap.insert(timer, due: due(timer), sequence: nextSequence())
        timer.heap = heap
        return timer.latestFire < plannedUntil
    }

    private mutating func heap(of modes: TimerModes) -> TimerHeap {
        if let known = heaps.first(where: { $0.modes == modes }) { return known }
        let heap = TimerHeap(modes: modes)
        heaps.append(heap)
        return heap
    }

    private func due(_ timer: RunLoopTimer) -> UInt64 {
        timer.isFiring.load(ordering: .relaxed) ? .max : max(timer.nextFire, servedUntil + 1)
    }

    private mutating func nextSequence() -> UInt64 {
        lastSequence += 1
        return lastSequence
    }
}
