internal import LagModel

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
/// function by now. A thread that has left the loop has no such call; and one that rests in between (a pool's) does so by no more calls of the program's
/// from there than its wait took: it calls the lock's wait itself, or by a function of its own, as it does its wait.
///
/// A function that waits may have something else on the stack that is large, such as the text of its messages. That is seen by its frame, but for
/// interpreters, whose own calls need no frame.
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

    /// Beside a smaller frame hardly a handler has room. (The three sets of a `select` have 384 bytes.)
    private static let largeFrameBytes: UInt64 = 512

    package let calls: [Call]
    /// Whether a language's functions are on the stack, too.
    private let hasLanguages: Bool

    package init(_ calls: [Call] = [], hasLanguages: Bool = false) {
        self.calls = calls
        self.hasLanguages = hasLanguages
    }

    /// Whether these calls can say it. ``isHandler(_:events:)`` is false where they cannot.
    package func canDistinguish(events: UInt64?) -> Bool { holder(events) != nil }

    /// The function whose frame is so large.
    private func holder(_ events: UInt64?) -> Int? {
        let found: Int?
        if let events {
            found = calls.lastIndex { $0.stackPointer <= events }
        } else if hasLanguages {
            found = nil
        } else {
            found = calls.indices.dropLast().first {
                let bytes = calls[$0 + 1].stackPointer.saturatingDifference(calls[$0].stackPointer)
                return !calls[$0].isSystems && bytes >= Self.largeFrameBytes
            }
        }
        return found.flatMap { $0 + 2 < calls.count ? $0 : nil }
    }

    /// - Parameters:
    ///   - stack: the thread's calls now, the innermost first.
    ///   - events: where on its stack the loop's wait has its events; nil: elsewhere.
    package func isHandler(_ stack: [Call], events: UInt64?) -> Bool {
        // Of a program that is its own C library it is not known which calls are the program's.
        guard let holder = holder(events), calls.first?.isSystems == true, stack.first?.isSystems == true else { return false }
        let caller = calls[holder + 1]
        // Who calls a thread's first function is no loop.
        guard !calls[holder].isSystems, !caller.isSystems, caller.function != 0 else { return false }
        // Its frame ends where that of its own caller begins.
        let end = calls[holder + 2].stackPointer
        guard let common = stack.indices.dropLast().first(where: { stack[$0 + 1].stackPointer == end }), common > 0,
            stack[common].function == caller.function, stack[common - 1].function != calls[holder].function
        else { return false }
        return Self.programs(stack[..<common]) > Self.programs(calls[...holder])
    }

    /// How many of these calls are the program's: without the innermost ones, of the libraries by which it waits.
    private static func programs(_ calls: ArraySlice<Call>) -> Int { calls.drop { $0.isSystems }.count }
}
