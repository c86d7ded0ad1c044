/// By which calls a loop's thread came to its wait, the wait first: says of a thread that sleeps elsewhere whether it is in a handler, where the
/// stack's bytes do not.
///
/// A function that waits may have its events on the stack (Asio 1.5 KB, libuv 12), more than all frames of a handler that its caller calls beside it:
///
///     low addresses                                             high
///     epoll_wait | wait_for_events  [ events                 ] | run | main
///                                     futex | handler | invoke | run | main
///
/// What both stacks have in common is the call of `run`, the same function with its frame at the same place, and what it called is another
/// function by now. A thread that has left the loop has no such call; and one that rests in between (a pool's) does so by fewer calls from there
/// than its wait took, for it calls the lock's wait itself.
package struct LoopCalls: Sendable, Equatable {
    package struct Call: Sendable, Equatable {
        /// Where its function begins; 0: that is not known.
        package var function: UInt64
        /// At its call of the next one.
        package var stackPointer: UInt64
        /// Of a library by which programs wait.
        package var isSystems: Bool

        package init(function: UInt64, stackPointer: UInt64, isSystems: Bool = false) {
            self.function = function
            self.stackPointer = stackPointer
            self.isSystems = isSystems
        }
    }

    /// Calls that are kept. Those of a handler that fits beside the events are few.
    package static let capacity = 64

    package let calls: [Call]

    package init(_ calls: [Call] = []) { self.calls = calls }

    /// - Parameters:
    ///   - stack: the thread's calls now, the innermost first.
    ///   - events: where on its stack the loop's wait has its events.
    package func isHandler(_ stack: [Call], events: UInt64) -> Bool {
        guard let holder = calls.lastIndex(where: { $0.stackPointer <= events }), holder + 2 < calls.count else { return false }
        let caller = calls[holder + 1]
        // Who calls a thread's first function is no loop.
        guard !calls[holder].isSystems, !caller.isSystems, caller.function != 0 else { return false }
        // Its frame ends where that of its own caller begins.
        let end = calls[holder + 2].stackPointer
        guard let common = stack.indices.dropLast().first(where: { stack[$0 + 1].stackPointer == end }), common > 0,
            stack[common].function == caller.function, stack[common - 1].function != calls[holder].function
        else { return false }
        return Self.programs(stack[..<common]) >= max(1, Self.programs(calls[...holder]))
    }

    /// How many of these calls are the program's: without the innermost ones, of the libraries by which it waits.
    private static func programs(_ calls: ArraySlice<Call>) -> Int { calls.drop { $0.isSystems }.count }
}
