internal import LagModel

/// How long quotas had kept a process's control groups from running by some time: two readings give the time between them.
package struct ThrottleReading: Sendable, Equatable {
    /// When it was read: `CLOCK_MONOTONIC`, in nanoseconds.
    package let time: UInt64
    /// Time out of quota since the groups exist, in nanoseconds, added up over the processors and (see ``ThrottleMeter``) over
    /// nested groups. It is an upper bound of one thread's waiting time, and may exceed the time elapsed.
    ///
    /// The kernel adds a wait when it ends. The waits of a thread that runs again are included; a wait in progress is not.
    package let throttledNanoseconds: UInt64
    /// Identifies the groups: readings of other groups are not comparable.
    let groups: UInt64

    package init(time: UInt64, throttledNanoseconds: UInt64, groups: UInt64 = 0) {
        self.time = time
        self.throttledNanoseconds = throttledNanoseconds
        self.groups = groups
    }

    /// The growth since an earlier reading; nil if that is of other groups.
    package func growth(since earlier: ThrottleReading) -> UInt64? {
        groups == earlier.groups ? throttledNanoseconds.saturatingDifference(earlier.throttledNanoseconds) : nil
    }
}
