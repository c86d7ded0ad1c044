#if NIO
    internal import Glibc
    public import LagMonitor
    public import NIOCore
    internal import Synchronization

    /// An event loop of SwiftNIO that can be watched. ``NIOLoops`` creates one for each loop of a group.
    ///
    /// How it works: whenever the rule wants a sign of life, the loop's thread is sampled from outside (some 4 µs, on the
    /// monitor's side). If it sleeps in its own `epoll_wait`, it is idle, which is as good as an answer: an idle loop is never
    /// woken. Otherwise it gets a heartbeat, an `execute` of two stores. So a busy loop pays for at most one heartbeat per
    /// interval of the rule. A blocked channel handler, task or actor job is found because the heartbeat is not answered.
    ///
    /// The part that the loop holds is small and does not keep this object alive. When the loop shuts down, the watch ends by
    /// itself, and nothing is submitted to the loop any more. Everything here is safe from any thread.
    public final class NIOLoop: MailboxLoop {
        public let name: String
        public let eventLoop: any EventLoop
        private let link: NIOLoopLink
        private let expectedBlocks: ExpectedBlockScope

        /// - Parameter name: the value of `loop` in records.
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

        /// The loop's thread, learned once; 0 until the loop has reported it.
        public var thread: ThreadIdentity { link.thread ?? ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

        public var publishesActivity: Bool { false }

        /// Records that the loop is idle, or sends it a heartbeat; at most one is outstanding. Allocates and locks.
        public func ping() { link.ping(eventLoop) }

        /// Heartbeats that were sent to the loop so far.
        public var heartbeats: UInt64 { link.heartbeats.load(ordering: .relaxed) }

        /// Whether idleness can be recognised from outside, so that an idle loop need not be woken. True some microseconds after
        /// the beginning; never for loops from other libraries than NIOPosix, nor if the kernel does not report what a thread
        /// sleeps in.
        public var detectsIdleness: Bool { link.detectsIdleness }

        /// Whether the loop has reported its thread, and can be sampled if that is possible at all.
        var isReady: Bool { link.isReady }

        /// 100 µs, for callers that wait until it is ready.
        func waitBriefly() { usleep(100) }
    }
#endif
