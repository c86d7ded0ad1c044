internal import LagModel

/// For how long the kernel kept a control group from running, since the group exists: two readings give the time between.
package struct Throttling: Sendable, Equatable {
    /// Time out of quota, in nanoseconds, added up over the processors and (see ``ThrottleMeter``) over nested groups:
    /// an upper bound of the time in which a thread of the group had to wait, which may exceed the time elapsed.
    ///
    /// The kernel adds a pause when it ends. The pauses of the reading thread are in it; one that lasts at this moment on
    /// another processor is not yet.
    package let throttledNanoseconds: UInt64
    /// How often a quota ran out, of those whose files were read: only this group's own one where the kernel gives the
    /// time as a sum, so that it may be 0 while there is time. nil when the kernel does not say.
    package let throttledCount: UInt64?
    /// Time frozen by the group's freezer, in nanoseconds, the present pause included; nil when the kernel does not say
    /// (before Linux 6.17, and for the freezer of cgroup v1).
    package let frozenNanoseconds: UInt64?

    package init(throttledNanoseconds: UInt64, throttledCount: UInt64?, frozenNanoseconds: UInt64?) {
        self.throttledNanoseconds = throttledNanoseconds
        self.throttledCount = throttledCount
        self.frozenNanoseconds = frozenNanoseconds
    }

    /// What came since an earlier reading of the same meter; never negative, nil where either reading has nothing.
    package func since(_ earlier: Throttling) -> Throttling {
        Throttling(
            throttledNanoseconds: throttledNanoseconds.saturatingDifference(earlier.throttledNanoseconds),
            throttledCount: Self.growth(throttledCount, since: earlier.throttledCount),
            frozenNanoseconds: Self.growth(frozenNanoseconds, since: earlier.frozenNanoseconds)
        )
    }

    private static func growth(_ now: UInt64?, since before: UInt64?) -> UInt64? {
        guard let now, let before else { return nil }
        return now.saturatingDifference(before)
    }
}
