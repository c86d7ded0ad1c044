internal import LagCapture

/// The functions on a loop's stack while it waits for events, root first: what runs the loop, and what called that.
///
/// Whatever a stalled thread has in common with it, from the root on, is the loop's own code: no callback, whosever library it is in and
/// whatever it is called. So it needs no list of names of run loops.
package struct LoopStack: Sendable, Equatable {
    /// Frames between a thread's first one and its loop. Few programs have more; of those nothing is known.
    package static let capacity = 48

    /// Where they begin. Of the wait itself too, which only a wait has in common with it.
    package private(set) var functions: [UInt64]

    package init(functions: [UInt64] = []) { self.functions = functions }

    /// Takes the stack in `frames`, leaf first. Allocates once: for monitors of other processes alone.
    /// - Returns: false where the root was not reached or there are too many frames; then it is as before.
    @discardableResult
    mutating func record(_ outcome: CaptureOutcome, in frames: FrameBuffer) -> Bool {
        guard outcome.method == .passive, outcome.end == .complete, outcome.stored == outcome.total,
            (1...Self.capacity).contains(outcome.stored)
        else { return false }
        functions.removeAll(keepingCapacity: true)
        functions.reserveCapacity(Self.capacity)
        for index in stride(from: outcome.stored - 1, through: 0, by: -1) { functions.append(frames[index].functionStart) }
        return true
    }

    /// How many of the outermost frames of a stack are the loop's own.
    /// - Parameter stack: where its functions begin, leaf first.
    package func commonFrames(with stack: some BidirectionalCollection<UInt64>) -> Int {
        zip(functions, stack.reversed()).prefix { $0 == $1 }.count
    }
}
