internal import LagModel

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

    /// Where the calls in the wait for a loop's events and the present ones differ.
    struct Branch {
        /// The innermost call that is active in both, as it is now and as it was then.
        let now: Call
        let then: Call
        /// The calls between that and the wait, which have returned since.
        let left: ArraySlice<Call>
    }

    /// Nil: none, if the thread has not called anything else, and if the wait was too deep.
    ///
    /// If the innermost loop around the wait contains both calls, the thread is in a handler of that loop. A loop further out may
    /// be one that starts a server again after each of its ends.
    func branch(from rest: CallChain) -> Branch? {
        let common = zip(calls, rest.calls).prefix { $0 == $1 }
        guard let (now, then) = common.reversed().first, common.count < calls.count, common.count < rest.calls.count,
            rest.calls.count - common.count <= Self.mostLeft
        else { return nil }
        return Branch(now: now, then: then, left: rest.calls[common.count...])
    }

    private static let mostLeft = 8

    /// A hash of all calls and how far each has come.
    var check: UInt64 {
        var hash = StableHash()
        for call in calls {
            hash.combine(word: call.identity)
            hash.combine(word: call.instruction)
        }
        return hash.value
    }

    /// One call.
    static func call(frame: UInt64, code: UInt64, instruction: UInt64 = 0) -> Call {
        Call(identity: frame ^ code &* 0x9e37_79b9_7f4a_7c15, code: code, instruction: instruction)
    }
}
