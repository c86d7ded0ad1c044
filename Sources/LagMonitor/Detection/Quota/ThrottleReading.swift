internal import LagModel

/// For how long quotas had kept a process's control groups from running by some time: two readings give the time between.
package struct ThrottleReading: Sendable, Equatable {
    /// When it was read: `CLOCK_MONOTONIC`, in nanoseconds.
    package let time: UInt64
    /// Time out of quota since the groups exist, in nanoseconds, added up over the processors and (see ``ThrottleMeter``) over nested groups:
    /// an upper bound of the time in which one thread had to wait, which may exceed the time elapsed.
    ///
    /// The kernel adds a wait when it ends. Those of a thread that runs again are in it; one that lasts at this moment is not yet.
    package let throttledNanoseconds: UInt64
    /// Which groups' these are: those of others say nothing about them.
    let groups: UInt64

    package init(time: UInt64, throttledNanoseconds: UInt64, groups: UInt64 = 0) {
        self.time = time
        self.throttledNanoseconds = throttledNanoseconds
        self.groups = groups
    }

    /// What came since an earlier reading; nil where that is of other groups.
    package func growth(since earlier: ThrottleReading) -> UInt64? {
        groups == earlier.groups ? throttledNanoseconds.saturatingDifference(earlier.throttledNanoseconds) : nil
    }
}
