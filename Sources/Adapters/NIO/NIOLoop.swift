#if NIO
    internal import Glibc
    public import LagMonitor
    public import NIOCore
    internal import Synchronization

    /// An event loop of SwiftNIO as something that can be watched. ``NIOLoops`` makes one for each loop of a group.
    ///
    /// How: whenever the rule wants a sign of life, the loop's thread is sampled from outside (some 4 µs, on the monitor's side). If it
    /// sleeps in its own `epoll_wait` it is idle, which is as good as an answer: an idle loop is never woken. Otherwise it gets a
    /// heartbeat, an `execute` of two stores. So a busy loop is charged at most one heartbeat an interval of the rule, and a blocked
    /// channel handler, task or actor job is found by the heartbeat that is not answered.
    ///
    /// What the loop holds of it is small and does not keep this object alive. When the loop shuts down the watch ends by itself, and
    /// nothing is given to the loop any more. Everything here is safe from any thread.
    public final class NIOLoop: MailboxLoop {
        public let name: String
        public let eventLoop: any EventLoop
        private let link: NIOLoopLink
        private let expectedBlocks: ExpectedBlockScope

        /// - Parameter name: what is in records as `loop`.
        package init(_ eventLoop: any EventLoop, named name: String) {
            self.eventLoop = eventLoop
            self.name = name
            link = NIOLoopLink()
            expectedBlocks = ExpectedBlockScope(link.mailbox.beacon) { eventLoop.inEventLoop }
            link.connect(to: eventLoop)
        }

        deinit { link.release() }

        public var beacon: ActivityBeacon { mailbox.beacon }
        package var mailbox: PingMailbox { link.mailbox }

        /// The loop's thread, learned once; 0 while the loop has not got to say it.
        public var thread: ThreadIdentity { link.thread ?? ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

        public var publishesActivity: Bool { false }

        /// Notes that the loop is idle, or gives it a heartbeat; at most one is under way. Allocates and locks.
        public func ping() { link.ping(eventLoop) }

        /// Heartbeats that were given to the loop so far.
        public var heartbeats: UInt64 { link.heartbeats.load(ordering: .relaxed) }

        /// Whether idleness can be recognised from outside, so that an idle loop need not be woken. Some microseconds after the beginning; never
        /// for loops of other makers than NIOPosix, nor where the kernel does not report what a thread sleeps in.
        public var detectsIdleness: Bool { link.detectsIdleness }

        /// Whether the loop has said which thread it is, and can be sampled if that is possible at all.
        var isReady: Bool { link.isReady }

        /// 100 µs, for who waits until it is ready.
        func waitBriefly() { usleep(100) }
    }
#endif
