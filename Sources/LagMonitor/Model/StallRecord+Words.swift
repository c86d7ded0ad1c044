extension StallRecord {
    /// Which line of its stall a record is.
    public enum Phase: String, Sendable, CaseIterable {
        /// The stall is still in progress: a long one gets a line while it lasts.
        case begin
        /// The stall is over.
        case end
        /// The process died or stopped during the stall.
        case abandoned
    }

    /// How bad it is, in the words of syslog (RFC 5424) that log readers know.
    public enum Severity: String, Sendable, CaseIterable {
        case warning
        case error
        case critical
    }

    /// The rule that found the stall. In order of precision: the first rules know the stall's start and end more exactly.
    public enum Kind: String, Sendable, CaseIterable, Comparable {
        /// One long callback.
        case callout
        /// Many short ones: the loop did not sleep for the threshold.
        case starvation
        /// A posted task was not answered in time.
        case ping
        /// A tick at a fixed rate was missed.
        case frame
        /// The same function was on top in several samples.
        case sample

        /// The position in the order.
        package var rank: UInt8 {
            switch self {
            case .callout: 0
            case .starvation: 1
            case .ping: 2
            case .frame: 3
            case .sample: 4
            }
        }

        // Does not compare raw values: the watchdog compares kinds, and texts would be compared by generic code.
        public static func == (left: Kind, right: Kind) -> Bool { left.rank == right.rank }
        public static func != (left: Kind, right: Kind) -> Bool { left.rank != right.rank }
        public static func < (left: Kind, right: Kind) -> Bool { left.rank < right.rank }
    }

    /// Why the thread did not progress.
    public enum Cause: String, Sendable, CaseIterable {
        case cpu
        case syscall
        case lock
        case deadlock
        case runqueue
        case pageFault = "page_fault"
        case unknown
    }

    /// How the stack was taken.
    public typealias Capture = CaptureMethod

    /// What a thread waits for in a futex. The raw value is written to the line.
    public enum LockKind: String, Sendable, CaseIterable {
        /// A pthread mutex, `NSLock` and the like.
        case mutex
        /// A lock whose word contains its owner: `Synchronization.Mutex`, Swift's lazy globals, `dispatch_once`. Also other code
        /// that runs once (`pthread_once`, C++'s static locals), if no memory names the owner.
        case owned
        /// A pthread rwlock.
        case readWrite = "read_write"
        /// A dispatch queue, by `sync`.
        case queue
        /// A thread's end.
        case thread
        case condition
        case semaphore
        /// A dispatch group.
        case group
        /// The lock of a language's interpreter (CPython's GIL).
        case gil
        /// Another kind of wait in a futex.
        case futex
    }
}
