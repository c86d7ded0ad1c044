/// A thread. Not used here, so each is the invalid thread 0.
public struct ThreadIdentity: Sendable, Equatable {
    public let tid: Int32
    package let process: Int32
    public let stackLow: UInt64
    public let stackHigh: UInt64

    public init(tid: Int32, stackLow: UInt64, stackHigh: UInt64) {
        self.init(tid: tid, process: 0, stackLow: stackLow, stackHigh: stackHigh)
    }

    package init(tid: Int32, process: Int32, stackLow: UInt64, stackHigh: UInt64) {
        self.process = process
        self.tid = tid
        self.stackLow = stackLow
        self.stackHigh = stackHigh
    }

    public static var current: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

    public static var main: ThreadIdentity { current }
}
