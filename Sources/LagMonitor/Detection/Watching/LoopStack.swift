internal import LagCapture
internal import LagModel

/// The functions on a loop's stack while it waits for events, root first: what runs the loop, and its callers.
///
/// What a stalled thread's stack has in common with it, from the root on, is the loop's own code and not a callback, in whatever
/// library it is and whatever its name. So no list of names of run loops is needed.
package struct LoopStack: Sendable, Equatable {
    /// Frames between a thread's first one and its loop. Few programs have more; for those the loop's stack is unknown.
    package static let capacity = 48

    /// The functions' start addresses. The wait itself is included; only a stack in the wait has that in common with it.
    package private(set) var functions: [UInt64]

    package init(functions: [UInt64] = []) { self.functions = functions }

    /// Takes the stack in `frames`, leaf first. Allocates once: only for monitors of other processes.
    /// - Returns: false if the root was not reached or there are too many frames; then it is unchanged.
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

    /// How many of the outermost frames of a stack belong to the loop.
    /// - Parameter stack: the start addresses of its functions, leaf first.
    package func commonFrames(with stack: some BidirectionalCollection<UInt64>) -> Int {
        zip(functions, stack.reversed()).prefix { $0 == $1 }.count
    }
}
