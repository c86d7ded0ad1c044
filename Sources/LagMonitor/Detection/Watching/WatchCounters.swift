/// What became of the stalls of some watched loops.
package struct WatchCounters: Sendable, Equatable {
    /// Stalls found and to be reported.
    package var stalls: UInt64
    /// Lines for which no prepared memory was left.
    package var dropped: UInt64
    /// Stalls within a restore interval: counted, not reported.
    package var suppressed: UInt64
    /// Found, but not stalls: a debugger held the loop.
    package var dismissed: UInt64

    package init(stalls: UInt64 = 0, dropped: UInt64 = 0, suppressed: UInt64 = 0, dismissed: UInt64 = 0) {
        self.stalls = stalls
        self.dropped = dropped
        self.suppressed = suppressed
        self.dismissed = dismissed
    }

    package static func += (left: inout WatchCounters, right: WatchCounters) {
        left.stalls += right.stalls
        left.dropped += right.dropped
        left.suppressed += right.suppressed
        left.dismissed += right.dismissed
    }
}

/// The owner of a watch: keeps the counts of loops that are no longer watched.
///
/// Both functions are called while the registry is locked, so that no count is seen twice or missed while it is moved; they must
/// not call the registry.
package protocol WatchOwner: AnyObject, Sendable {
    func absorb(_ counters: WatchCounters)
    var absorbed: WatchCounters { get }
}
