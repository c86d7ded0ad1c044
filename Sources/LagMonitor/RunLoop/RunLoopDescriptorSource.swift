internal import CLagLinux
internal import Synchronization

/// A file descriptor as a source: its handler runs on the loop's thread when the descriptor is ready.
///
/// It is level-triggered, like `poll(2)`: the handler is called again on the next turn while the descriptor stays ready. So the
/// handler should read or write, or be removed. Two sources may watch the same descriptor. A descriptor that cannot be polled (a
/// regular file) is always ready, as in `poll(2)`.
/// Everything here is safe from any thread. The source does not own the descriptor: invalidate the source *before* closing.
public final class RunLoopDescriptorSource: Sendable, RunLoopItem {
    /// What a descriptor can be ready for.
    public struct Events: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Something can be read, or the other side has closed (a read then returns the end).
        public static let readable = Events(rawValue: UInt32(CLL_POLL_READABLE))
        /// Something can be written.
        public static let writable = Events(rawValue: UInt32(CLL_POLL_WRITABLE))
        /// The other side has closed, or there is an error. Always reported, even if not requested.
        public static let hangup = Events(rawValue: UInt32(CLL_POLL_HANGUP))
    }

    /// Called on the loop's thread.
    public typealias Handler = @Sendable (RunLoopDescriptorSource, Events) -> Void

    /// The file descriptor.
    public let descriptor: Int32
    /// What to wait for.
    public let events: Events
    /// Its place among the descriptors of a mode: lower is handled earlier.
    public let order: Int

    let handler: Handler
    let attachment = Attachment()
    private let ready = Atomic<UInt32>(0)
    private let failure = Atomic<Int32>(0)

    /// - Parameters:
    ///   - descriptor: an open file descriptor.
    ///   - events: what to wait for; a hang-up is always reported.
    ///   - order: lower is handled earlier; equal ones in the order in which they became ready, and in turn in a run for one
    ///     source.
    ///   - handler: receives the source and the descriptor's ready events, on the loop's thread.
    public init(descriptor: Int32, events: Events = .readable, order: Int = 0, handler: @escaping Handler) {
        self.descriptor = descriptor
        self.events = events
        self.order = order
        self.handler = handler
    }

    /// Whether it can still be called.
    public var isValid: Bool { attachment.isValid }

    /// Why the loop could not watch the descriptor, as an `errno` (`EBADF`, `EMFILE`…); nil when it can.
    public var watchError: Int32? {
        let error = failure.load(ordering: .acquiring)
        return error == 0 ? nil : error
    }

    /// Permanently removes it from its loop. After this, the descriptor may be closed.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        if isFirst { loop?.removeEverywhere(self, in: \.descriptors) }
    }

    // The loop's thread only, from here on.

    var watchedDescriptor: Int32? { descriptor }

    func addReadyEvents(_ events: UInt32) { ready.store(ready.load(ordering: .relaxed) | events, ordering: .relaxed) }

    var hasReadyEvents: Bool { ready.load(ordering: .relaxed) != 0 }

    func takeReady() -> Events { Events(rawValue: ready.exchange(0, ordering: .relaxed)) }

    func setWatchError(_ errno: Int32) { failure.store(errno, ordering: .releasing) }
}
