internal import LagModel

/// A time in which the process as a whole could not run, as far as its watchdog can know: it was stopped, frozen, or held by a
/// debugger. Time taken by a quota is not a pause: then a thread is ready to run, and its users wait for it.
///
/// The watchdog only knows that it returned late from a wait. So the process pause is somewhere between two times, and its length
/// has bounds. Whether something *is* a stall is decided with the upper bound; its duration is reported with both.
package struct ProcessPause: Sendable, Equatable {
    /// It did not begin before this time.
    package let from: UInt64
    /// It was over by this time.
    package let to: UInt64
    /// Bounds of its length in nanoseconds; the upper one is at most `to - from`.
    package let atLeast: UInt64
    package let atMost: UInt64
    /// The most likely length, between them.
    package let likely: UInt64
    /// How long a thread of the process can have run between the two times if there was a pause: until the watchdog was due, and
    /// while the watchdog itself waited for a processor.
    package let mostRun: UInt64

    /// - Parameters:
    ///   - likely: nil: the middle of the bounds.
    ///   - mostRun: nil: the time that is certainly not the pause.
    package init(
        from: UInt64,
        to: UInt64,
        atLeast: UInt64,
        atMost: UInt64,
        likely: UInt64? = nil,
        mostRun: UInt64? = nil
    ) {
        let window = to.saturatingDifference(from)
        self.from = from
        self.to = to
        self.atMost = min(atMost, window)
        self.atLeast = min(atLeast, self.atMost)
        self.likely = min(max(likely ?? self.atLeast + (self.atMost - self.atLeast) / 2, self.atLeast), self.atMost)
        self.mostRun = mostRun ?? window - self.atLeast
    }

    /// The same, limited by what is known of the loop's thread; nil if that leaves no pause.
    ///
    /// A thread that ran for longer than a pause permits proves that there was none: the watchdog waited for something else, for
    /// example for a memory map that a `fork` holds. Then neither the time that the thread ran nor the time that it waited for a
    /// processor belongs to the pause. (Otherwise the latter may: Linux 6.18 counts some of a stop as such.)
    /// - Parameters:
    ///   - window: from ``from`` to the reading of the thread's clock.
    ///   - ran: how long the thread ran meanwhile, at least.
    ///   - waited: how long it waited for a processor.
    func limited(in window: UInt64, ran: UInt64, waited: UInt64) -> ProcessPause? {
        let rest = window.saturatingDifference(ran)
        guard ran > mostRun.saturatingSum(LatenessGuard.mostToleranceNanoseconds) else {
            guard rest > 0 else { return nil }
            let isUnlikely = likely == atLeast && atLeast < atMost
            return ProcessPause(
                from: from,
                to: to,
                atLeast: min(atLeast, rest),
                atMost: min(atMost, rest),
                likely: isUnlikely ? 0 : nil,
                mostRun: mostRun
            )
        }
        let unexplained = min(rest.saturatingDifference(waited), atMost)
        guard unexplained > LatenessGuard.mostToleranceNanoseconds else { return nil }
        return ProcessPause(from: from, to: to, atLeast: 0, atMost: unexplained, likely: 0, mostRun: mostRun)
    }

    /// Both pauses, one after the other, as one.
    package static func joined(_ one: ProcessPause?, _ other: ProcessPause?) -> ProcessPause? {
        guard let one, let other else { return one ?? other }
        let between = max(one.from, other.from).saturatingDifference(min(one.to, other.to))
        return ProcessPause(
            from: min(one.from, other.from),
            to: max(one.to, other.to),
            atLeast: one.atLeast.saturatingSum(other.atLeast),
            atMost: one.atMost.saturatingSum(other.atMost),
            likely: one.likely.saturatingSum(other.likely),
            mostRun: one.mostRun.saturatingSum(other.mostRun).saturatingSum(between)
        )
    }

    /// How much of it is between two times: at least what does not fit outside, at most what fits inside.
    package func share(from since: UInt64, until: UInt64) -> Share {
        let inside = min(to, until).saturatingDifference(max(from, since))
        let outside = to.saturatingDifference(from) - inside
        let share = (atLeast: atLeast.saturatingDifference(outside), atMost: min(atMost, inside))
        // As far between its bounds as the whole pause's.
        let position = atMost > atLeast ? Double(likely - atLeast) / Double(atMost - atLeast) : 0.5
        return Share(
            atLeast: share.atLeast,
            atMost: share.atMost,
            likely: share.atLeast + UInt64(Double(share.atMost - share.atLeast) * position)
        )
    }

    /// The part of process pauses in a period, in nanoseconds.
    package struct Share: Sendable, Equatable {
        package var atLeast: UInt64 = 0
        package var atMost: UInt64 = 0
        package var likely: UInt64 = 0

        static func + (one: Share, other: Share) -> Share {
            Share(
                atLeast: one.atLeast.saturatingSum(other.atLeast),
                atMost: one.atMost.saturatingSum(other.atMost),
                likely: one.likely.saturatingSum(other.likely)
            )
        }

        /// What is left of it without `other`.
        static func - (one: Share, other: Share) -> Share {
            let atLeast = one.atLeast.saturatingDifference(other.atMost)
            let atMost = one.atMost.saturatingDifference(other.atLeast)
            return Share(
                atLeast: atLeast,
                atMost: atMost,
                likely: min(max(one.likely.saturatingDifference(other.likely), atLeast), atMost)
            )
        }
    }
}
