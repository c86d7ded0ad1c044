/// Work that was submitted to a loop. Guarded by the loop's lock for it, until the loop's thread fetches it.
struct SubmittedWork: Sendable {
    struct Item: Sendable {
        let modes: [RunLoopMode]
        let work: @Sendable () -> Void
        /// Called instead of `work` when the loop ends first.
        let abandon: (@Sendable () -> Void)?
    }

    var items = FIFOQueue<Item>()
    /// Set when the thread ended: nothing is accepted any more.
    var isFinished = false
}

/// The work that a loop's thread has fetched and not begun, in the order of submission. Only the loop's thread uses it, so it
/// needs no lock.
///
/// Work is taken one piece at a time, and all runs of the loop take from here: a nested run also sees work submitted after the
/// work that started it. Work for other modes is put aside until the mode changes, so each piece is examined once a mode.
struct WorkQueue {
    /// The present mode, as far as work is concerned.
    struct Mode: Equatable {
        let mode: RunLoopMode
        let isCommon: Bool

        func runs(_ item: SubmittedWork.Item) -> Bool { item.modes.contains { $0 == mode || ($0 == .common && isCommon) } }
    }

    private var waiting = FIFOQueue<SubmittedWork.Item>()
    /// Work that was examined and is for other modes. All of it was submitted before the waiting work.
    private var aside: [SubmittedWork.Item] = []
    /// The mode in which it was put aside.
    private var examinedIn: Mode?
    /// The position of the first waiting piece among all that ever waited.
    private var front = 0

    /// The position after the last: work before this position is present now.
    var end: Int { front + waiting.count }

    var count: Int { waiting.count + aside.count }

    mutating func fetch(from submitted: inout SubmittedWork) { waiting.append(takingFrom: &submitted.items) }

    /// Takes the next piece for `mode` before the position `end`.
    mutating func takeNext(for mode: Mode, before end: Int) -> SubmittedWork.Item? {
        reexamine(in: mode)
        while front < end, let item = waiting.popFirst() {
            front += 1
            if mode.runs(item) { return item }
            aside.append(item)
        }
        return nil
    }

    /// Whether a piece that was not examined yet comes before the position `end`: nearly always one for the present mode.
    func hasNext(before end: Int) -> Bool { front < end && !waiting.isEmpty }

    /// Whether there is work for `mode`.
    mutating func hasWork(for mode: Mode) -> Bool {
        reexamine(in: mode)
        while let item = waiting.first {
            if mode.runs(item) { return true }
            aside.append(item)
            _ = waiting.popFirst()
            front += 1
        }
        return false
    }

    /// Everything that has not begun, in the order of submission.
    mutating func takeAll() -> [SubmittedWork.Item] {
        defer { self = WorkQueue() }
        return aside + waiting.waiting
    }

    private mutating func reexamine(in mode: Mode) {
        guard examinedIn != mode else { return }
        examinedIn = mode
        if aside.isEmpty { return }
        waiting.prepend(aside)
        front -= aside.count
        aside = []
    }
}
