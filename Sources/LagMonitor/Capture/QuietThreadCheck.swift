/// Whether a running thread may be sampled by a signal.
///
/// A signal would interrupt a wait that the thread enters at that moment. So it is sent only to a thread that has not waited for
/// a while: since the first sign of the stall, or for three polls in a row.
struct QuietThreadCheck {
    private static let needed = 3

    private var count: Int
    private var previous: ThreadState?

    init(earlier: ThreadState?) {
        previous = earlier
        count = earlier == nil ? 0 : Self.needed
    }

    mutating func isQuiet(_ state: ThreadState) -> Bool {
        if let previous, !state.neverWaited(since: previous) { count = 0 }
        previous = state
        count += 1
        return state.isRunnable && count > Self.needed
    }
}
