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
    /// A watch belongs to these objects: keep them in order to end or pause it. Another `NIOLoops` of the same group counts as
    /// other loops. Any thread.
    public struct NIOLoops: Sendable, RandomAccessCollection {
        /// How long a busy loop is waited for, so that its thread is known.
        public static let readyTimeout = Duration.seconds(1)

        private let loops: [NIOLoop]

        /// Learns the thread of each loop: some tenths of a millisecond if the loops are idle, at most ``readyTimeout`` if one is
        /// blocked. A blocked loop is watched all the same, but without stacks (`capture_error` is `thread_unknown`).
        /// - Parameters:
        ///   - group: any group that has not been shut down; a single loop is also a group.
        ///   - name: each loop's name in records is this with its number: `http-0`.
        public init(_ group: any EventLoopGroup, named name: String = "nio") {
            loops = group.makeIterator().enumerated().map { NIOLoop($1, named: "\(name)-\($0)") }
            let deadline = MonotonicTime.now + Self.readyTimeout
            for loop in loops {
                // Not from the loop itself: waiting there would not help.
                while !loop.isReady, !loop.eventLoop.inEventLoop, MonotonicTime.now < deadline { loop.waitBriefly() }
            }
        }

        public var startIndex: Int { loops.startIndex }
        public var endIndex: Int { loops.endIndex }
        public subscript(position: Int) -> NIOLoop { loops[position] }
    }
#endif
