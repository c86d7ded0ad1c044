/// The calls that a thread is in, in a language whose calls do not nest on the C stack: CPython from 3.11 on, Ruby 3.1, Perl, PHP.
///
/// Of a program in such a language the C stack does not say what is called from where: a loop's wait and what its handlers wait in are calls of C from
/// the same function, and how far in each of them is follows from what it keeps there itself.
struct CallChain: Sendable, Equatable {
    /// Calls between a function that turns in a loop and the wait: `selectors` has one. Of a wait further in nothing says which of the functions around it is the
    /// loop, and which have been left when the thread is somewhere else.
    private static let wrappers = 1

    /// Outermost first: of each where its frame is, and what it runs.
    let calls: [UInt64]

    /// Whether the function that waited for a loop's events in the calls `rest` is still there, and has called something else: what a handler is in.
    ///
    /// False says nothing: the loop may have been left, or may wait and block in the same function.
    func isHandler(of rest: CallChain) -> Bool {
        let common = zip(calls, rest.calls).prefix { $0 == $1 }.count
        return common > 0 && common < calls.count && common + Self.wrappers >= rest.calls.count
    }

    /// One call.
    static func call(frame: UInt64, code: UInt64) -> UInt64 { frame ^ code &* 0x9e37_79b9_7f4a_7c15 }
}
