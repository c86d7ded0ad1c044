/// The watch's state of one slot of a table, by its claim. A slot that is free, or whose loop does not count, has
/// none.
enum SharedLoopTableSlot {
    /// A provisional claim that is too young to watch, and when it was first seen.
    case settling(claim: UInt64, since: UInt64)
    /// Old enough. Its names must be read again, because it was not selected at the last check.
    case settled(claim: UInt64)
    /// Not selected, as found since the last check.
    case unselected(UnselectedLoop)
    /// It could not be watched, which was reported. Each scan tries again.
    case refused(claim: UInt64)
    case watched(WatchedLoop)

    final class WatchedLoop {
        let process: Int32
        let loop: RemoteLoop
        /// Known to be a loop.
        var isConfirmed: Bool
        /// Counted: a loop, and one that events can wait for.
        var isCounted: Bool
        /// Whether its work was in doubt at the last scan.
        var isDoubtful = false
        /// Whether it currently does not count.
        var isPaused = false
        /// The beacon's word at the last check.
        var word: UInt64?

        /// - Parameter before: the same loop, watched with other settings.
        init(_ loop: RemoteLoop, of process: Int32, after before: WatchedLoop? = nil) {
            self.process = process
            self.loop = loop
            isConfirmed = before?.isConfirmed ?? false
            isCounted = before?.isCounted ?? false
        }
    }

    var claim: UInt64 {
        switch self {
        case .settling(let claim, _), .settled(let claim), .refused(let claim): claim
        case .unselected(let loop): loop.claim
        case .watched(let watched): watched.loop.claim
        }
    }

    var watched: WatchedLoop? { if case .watched(let watched) = self { watched } else { nil } }
    var settlingSince: UInt64? { if case .settling(_, let since) = self { since } else { nil } }
    var unselected: UnselectedLoop? { if case .unselected(let loop) = self { loop } else { nil } }

    /// Whether it must be checked once a second.
    var isToBeTriedAgain: Bool {
        switch self {
        case .unselected, .refused: true
        case .settling, .settled, .watched: false
        }
    }
}
