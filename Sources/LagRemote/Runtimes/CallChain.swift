/// The call stack of a thread in a language whose calls do not nest on the C stack: CPython from 3.11 on, Ruby 3.1, Perl, PHP.
///
/// In such a language the C stack does not show the callers: a loop's wait and the waits of its handlers are C calls from
/// the same function, and their depths only depend on the size of their own frames.
struct CallChain: Sendable, Equatable {
    /// The maximum number of calls between the function with the loop and the wait: `selectors` has one. For a deeper wait, it is
    /// not known which of the functions around it is the loop, and which have been left when the thread is somewhere else.
    private static let wrappers = 1

    struct Call: Sendable, Equatable {
        /// Of its frame and function.
        let identity: UInt64
        /// Of CPython: its code object, and the instruction that it has come to.
        var code: UInt64 = 0
        var instruction: UInt64 = 0

        /// The same call, perhaps further on.
        static func == (one: Call, other: Call) -> Bool { one.identity == other.identity }
    }

    /// Outermost first.
    let calls: [Call]

    /// Whether the function that waited for a loop's events in the calls `rest` is still active, and has called something else:
    /// then a handler runs.
    ///
    /// False proves nothing: the loop may have been left, or may wait and block in the same function.
    func isHandler(of rest: CallChain) -> Bool {
        let common = zip(calls, rest.calls).prefix { $0 == $1 }.count
        return common > 0 && common < calls.count && common + Self.wrappers >= rest.calls.count
    }

    /// The same, without doubt as to which function has the loop: it has called the wait itself.
    func isCertainlyHandler(of rest: CallChain) -> Bool {
        !rest.calls.isEmpty && rest.calls.count < calls.count && calls.starts(with: rest.calls)
    }

    /// The calls that were active in the wait for a loop's events and are still active, now and then, the innermost first, if the
    /// thread has called something else from there. If both are in one loop of the function's code, the thread is in a handler of
    /// that loop, however deep the wait was.
    func common(with rest: CallChain) -> [(now: Call, then: Call)] {
        let common = zip(calls, rest.calls).prefix { $0 == $1 }
        guard common.count < calls.count, common.count < rest.calls.count else { return [] }
        return common.reversed()
    }

    /// One call.
    static func call(frame: UInt64, code: UInt64, instruction: UInt64 = 0) -> Call {
        Call(identity: frame ^ code &* 0x9e37_79b9_7f4a_7c15, code: code, instruction: instruction)
    }
}
