internal import Synchronization

/// One run call in progress. Kept for the next run of the same depth, so that entering a run allocates once.
final class RunFrame: Sendable {
    private let stopped = Atomic<Bool>(false)
    var isStopped: Bool { stopped.load(ordering: .acquiring) }
    func setStopped(_ value: Bool) { stopped.store(value, ordering: .releasing) }
}

/// The run calls of a loop that are in progress, innermost last. Guarded by a lock that is taken when a run begins, ends, or is
/// stopped, but never in a turn.
struct RunStack: Sendable {
    private var frames: [RunFrame] = []
    private var depth = 0
    /// Every run ends at once, now and later, because the thread is to end.
    private var endsAll = false

    mutating func push() -> RunFrame {
        if depth == frames.count { frames.append(RunFrame()) }
        let frame = frames[depth]
        frame.setStopped(endsAll)
        depth += 1
        return frame
    }

    mutating func pop() { depth -= 1 }

    /// Stops the innermost run; does nothing if none is in progress.
    mutating func stopInnermost() {
        if depth > 0 { frames[depth - 1].setStopped(true) }
    }

    mutating func stopAll() {
        endsAll = true
        for frame in frames[..<depth] { frame.setStopped(true) }
    }
}
