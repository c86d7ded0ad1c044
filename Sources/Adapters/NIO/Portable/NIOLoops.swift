#if NIO
    internal import LagMonitor
    public import NIOCore

    /// The loops of an event loop group, as they can be watched.
    ///
    /// ```swift
    /// import LagMonitor
    /// import LagMonitorNIO
    /// import NIOPosix
    ///
    /// let loops = try monitor.watch(MultiThreadedEventLoopGroup.singleton, named: "http")   // http-0, http-1, …
    /// ```
    /// A watch belongs to these objects: keep them in order to end or pause it; another `NIOLoops` of the same group are other loops.
    /// Any thread.
    public struct NIOLoops: Sendable, RandomAccessCollection {
        /// For so long a loop that is busy is waited for, so that its thread is known.
        public static let readyTimeout = Duration.seconds(1)

        private let loops: [NIOLoop]

        /// Learns which thread each loop runs on: some tenths of a millisecond when the loops are idle, at most ``readyTimeout`` when one is
        /// blocked. Such a loop is watched all the same, but without stacks (`capture_error` is `thread_unknown`).
        /// - Parameters:
        ///   - group: any group that has not been shut down; a single loop is one as well.
        ///   - name: each loop's name in records is that with its number: `http-0`.
        public init(_ group: any EventLoopGroup, named name: String = "nio") {
            loops = group.makeIterator().enumerated().map { NIOLoop($1, named: "\(name)-\($0)") }
            let deadline = MonotonicTime.now + Self.readyTimeout
            for loop in loops {
                // Not from the loop itself: nothing more could be learned there.
                while !loop.isReady, !loop.eventLoop.inEventLoop, MonotonicTime.now < deadline { loop.waitBriefly() }
            }
        }

        public var startIndex: Int { loops.startIndex }
        public var endIndex: Int { loops.endIndex }
        public subscript(position: Int) -> NIOLoop { loops[position] }
    }
#endif
