internal import LagModel

/// The calls by which a loop's thread reached its wait, the wait first. They show whether a thread that sleeps elsewhere is in a
/// handler, if the stack's bytes alone do not.
///
/// A function that waits may have its events on the stack (Asio 1.5 KB, libuv 12). They may be larger than all frames of a
/// handler that its caller calls instead:
///
///     low addresses                                             high
///     epoll_wait | wait_for_events  [ events                 ] | run | main
///                                     futex | handler | invoke | run | main
///
/// Both stacks have the call of `run` in common, the same function with its frame at the same place; the function that it called
/// is a different one by now. A thread that has left the loop has no such call. A thread that is idle in between (a pool's)
/// reaches its wait from there by no more of the program's calls than the loop's wait: it calls the lock's wait itself, or
/// through one function, as it does for its wait.
///
/// A function that waits may have another large object on the stack, such as the text of its messages. Its frame shows this,
/// except for interpreters, whose own calls need no frame.
package struct LoopCalls: Sendable, Equatable {
    package struct Call: Sendable, Equatable {
        /// The start of its function; 0: not known.
        package var function: UInt64
        /// The stack pointer at its call of the next function.
        package var stackPointer: UInt64
        /// Whether it belongs to a library in which programs wait.
        package var isSystems: Bool

        package init(function: UInt64, stackPointer: UInt64, isSystems: Bool = false) {
            self.function = function
            self.stackPointer = stackPointer
            self.isSystems = isSystems
        }
    }

    /// The maximum number of calls kept. A handler that fits beside the events has few.
    package static let capacity = 64

    /// A handler hardly fits beside a smaller frame. (The three sets of a `select` have 384 bytes.)
    private static let largeFrameBytes: UInt64 = 512

    package let calls: [Call]
    /// Whether a language's functions are on the stack, too.
    private let hasLanguages: Bool

    package init(_ calls: [Call] = [], hasLanguages: Bool = false) {
        self.calls = calls
        self.hasLanguages = hasLanguages
    }

    /// Whether these calls can decide it. ``isHandler(_:events:)`` is false if they cannot.
    package func canDistinguish(events: UInt64?) -> Bool { holder(events) != nil }

    /// The function with the large frame.
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
    ///   - events: the address on its stack at which the loop's wait has its events; nil: they are elsewhere.
    package func isHandler(_ stack: [Call], events: UInt64?) -> Bool {
        // For a program that contains its own C library, it is not known which calls are the program's.
        guard let holder = holder(events), calls.first?.isSystems == true, stack.first?.isSystems == true else { return false }
        let caller = calls[holder + 1]
        // The caller of a thread's first function is not a loop.
        guard !calls[holder].isSystems, !caller.isSystems, caller.function != 0 else { return false }
        // Its frame ends where its caller's begins.
        let end = calls[holder + 2].stackPointer
        guard let common = stack.indices.dropLast().first(where: { stack[$0 + 1].stackPointer == end }), common > 0,
            stack[common].function == caller.function, stack[common - 1].function != calls[holder].function
        else { return false }
        return Self.programs(stack[..<common]) > Self.programs(calls[...holder])
    }

    /// How many of these calls are the program's: without the innermost ones, of the libraries in which it waits.
    private static func programs(_ calls: ArraySlice<Call>) -> Int { calls.drop { $0.isSystems }.count }
}
