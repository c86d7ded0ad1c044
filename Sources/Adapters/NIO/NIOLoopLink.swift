#if NIO
    internal import CLagLinux
    internal import Glibc
    internal import LagMonitor
    internal import NIOCore
    internal import NIOPosix
    internal import Synchronization

    /// Connects an event loop with its watch: what heartbeats and the loop's thread use, and what must outlive the watch.
    ///
    /// The *marker* is a channel on the loop over an eventfd that is never written to. It costs the loop nothing (an entry in its
    /// epoll instance, never ready), and has two purposes:
    /// - The epoll instance that watches it is the loop's own. So a thread that sleeps in that instance is idle, and one that
    ///   sleeps in another is blocked (a handler may have an epoll of its own).
    /// - A loop that shuts down closes its channels before it refuses work. So when the marker closes, no more work is submitted:
    ///   NIO prints an error for work submitted to a loop that has shut down, and in its strict mode crashes.
    ///
    /// A scheduled task would report the shutdown as well, but a loop with a scheduled task reads the clock twice a turn.
    final class NIOLoopLink: Sendable {
        private enum Marker {
            /// Not connected yet.
            case none
            case open(any Channel, descriptor: Int32)
            /// Not possible on this loop.
            case refused
        }

        private struct State {
            var thread: ThreadIdentity?
            var marker = Marker.none
            /// The loop's epoll instance; negative: not known.
            var epoll: Int32 = -1
            /// When to search for it again.
            var searchNanoseconds: UInt64 = 0
            /// The loop shuts down: do not submit anything to it.
            var isClosed = false
            /// It is no longer watched.
            var isReleased = false

            var isReady: Bool {
                if isClosed { return true }
                if case .none = marker { return false }
                return thread != nil
            }
        }

        /// After an epoll instance that was not the loop's, no other is examined for this long.
        private static let searchGapNanoseconds: UInt64 = 1_000_000_000

        let mailbox = PingMailbox()
        let heartbeats = Atomic<UInt64>(0)
        // Held while something is submitted to the loop, so that the loop does not begin to refuse it in between. The loop's
        // thread takes it when it begins and when it ends.
        private let state = Mutex(State())

        var thread: ThreadIdentity? { state.withLock { $0.thread } }
        var detectsIdleness: Bool { state.withLock { $0.epoll >= 0 } }

        /// Whether the loop's thread is known, and whether it can have a marker.
        var isReady: Bool { state.withLock { $0.isReady } }

        private func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

        /// Learns the loop's thread and adds the marker. Returns at once.
        func connect(to loop: any EventLoop) {
            if loop.inEventLoop {
                learnThread()
            } else {
                loop.execute { self.learnThread() }
            }
            let descriptor = cll_epoll_marker()
            guard descriptor >= 0, let bootstrap = NIOPipeBootstrap(validatingGroup: loop) else {
                if descriptor >= 0 { close(descriptor) }
                return update { $0.marker = .refused }
            }
            bootstrap.channelOption(.autoRead, value: false).takingOwnershipOfDescriptor(input: descriptor).whenComplete {
                result in
                switch result {
                case .success(let channel): self.opened(channel, descriptor)
                case .failure:
                    close(descriptor)
                    self.update { $0.marker = .refused }
                }
            }
        }

        private func learnThread() {
            let thread = ThreadIdentity.current
            update { $0.thread = thread }
        }

        private func opened(_ channel: any Channel, _ descriptor: Int32) {
            channel.closeFuture.whenComplete { _ in self.closed() }
            let isReleased = state.withLock { state in
                if !state.isReleased { state.marker = .open(channel, descriptor: descriptor) }
                return state.isReleased
            }
            if isReleased { channel.close(promise: nil) }
        }

        /// Called on the loop: it shuts down, or the watch is over.
        private func closed() {
            let wasWatched = state.withLock { state in
                state.isClosed = true
                state.marker = .refused
                state.epoll = -1
                return !state.isReleased
            }
            if wasWatched { mailbox.beacon.publish(.finished) }
        }

        /// The watch is over.
        func release() {
            let own = state.withLock { state -> (any Channel)? in
                state.isReleased = true
                guard !state.isClosed, case .open(let channel, _) = state.marker else { return nil }
                state.marker = .refused
                // On the loop itself, the close happens at once, and takes the lock.
                if channel.eventLoop.inEventLoop { return channel }
                channel.close(promise: nil)
                return nil
            }
            own?.close(promise: nil)
        }

        func ping(_ loop: any EventLoop) {
            let isIdle = state.withLock { state -> Bool in
                if state.isClosed || state.isReleased { return false }
                if isAsleep(&state) { return true }
                guard mailbox.beginPing() else { return false }
                heartbeats.add(1, ordering: .relaxed)
                loop.execute { [mailbox] in mailbox.answer() }
                return false
            }
            if isIdle { mailbox.beacon.pong() }
        }

        /// Whether the loop's thread sleeps in the loop's own epoll instance.
        private func isAsleep(_ state: inout State) -> Bool {
            guard let thread = state.thread, case .open(_, let descriptor) = state.marker else { return false }
            let epoll = cll_epoll_of_sleeping(thread.tid)
            guard epoll >= 0 else { return false }
            if state.epoll >= 0 { return epoll == state.epoll }
            let now = MonotonicTime.now.nanoseconds
            guard now >= state.searchNanoseconds else { return false }
            state.searchNanoseconds = now + Self.searchGapNanoseconds
            guard cll_epoll_watches(epoll, descriptor) != 0 else { return false }
            state.epoll = epoll
            return true
        }
    }
#endif
