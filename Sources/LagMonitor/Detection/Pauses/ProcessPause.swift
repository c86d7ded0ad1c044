/// A time in which the process as a whole could not run, as far as its watchdog can know: it was stopped, frozen,
/// or held by a debugger. What a quota takes is none: there a thread is ready to run, and its users wait for it.
///
/// The watchdog only knows that it did not come back from a wait when it should have. So the process pause lies somewhere
/// between two times, and of its length there are bounds. Whether something *is* a stall is decided with the upper bound;
/// how long it took is reported with both.
package struct ProcessPause: Sendable, Equatable {
    /// It did not begin before that.
    package let from: UInt64
    /// It was over by then.
    package let to: UInt64
    /// Bounds of its length in nanoseconds; the upper one is at most `to - from`.
    package let atLeast: UInt64
    package let atMost: UInt64

    package init(from: UInt64, to: UInt64, atLeast: UInt64, atMost: UInt64) {
        let window = to.saturatingDifference(from)
        self.from = from
        self.to = to
        self.atMost = min(atMost, window)
        self.atLeast = min(atLeast, self.atMost)
    }

    /// The same, known to be no longer than that: a thread of the process was seen to run for the rest.
    func limited(to length: UInt64) -> ProcessPause {
        ProcessPause(from: from, to: to, atLeast: min(atLeast, length), atMost: min(atMost, length))
    }

    /// Both, one after the other, as one.
    package static func joined(_ one: ProcessPause?, _ other: ProcessPause?) -> ProcessPause? {
        guard let one, let other else { return one ?? other }
        return ProcessPause(
            from: min(one.from, other.from),
            to: max(one.to, other.to),
            atLeast: one.atLeast.saturatingSum(other.atLeast),
            atMost: one.atMost.saturatingSum(other.atMost)
        )
    }

    /// How much of it lies between two times: at least what does not fit outside, at most what fits inside.
    package func share(from since: UInt64, until: UInt64) -> (atLeast: UInt64, atMost: UInt64) {
        let inside = min(to, until).saturatingDifference(max(from, since))
        let outside = to.saturatingDifference(from) - inside
        return (atLeast.saturatingDifference(outside), min(atMost, inside))
    }
}
