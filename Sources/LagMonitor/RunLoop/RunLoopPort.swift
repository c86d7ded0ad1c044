internal import Synchronization

/// What one thread sends another through a ``RunLoopPort``.
public struct PortMessage: Sendable {
    /// What the message is about; the two sides agree on the numbers.
    public let id: Int
    /// The message's content.
    public let payload: [UInt8]
    /// Where an answer goes, if one is wanted.
    public let replyPort: RunLoopPort?
}

/// A port source ("source 1"): messages sent to it wake its loop by themselves and are handled there, in order.
///
/// ```swift
/// import LagMonitor
///
/// let mine = RunLoopPort { _, message in print(message.id) }
/// ObservedRunLoop.current.add(mine, to: .default)
/// theirs.send(id: 101, payload: bytes, replyTo: mine)
/// ```
/// Everything here is safe from any thread; a port is in one loop at a time. Messages sent before the port is in a loop
/// wait for it. A port that nobody sends to is what keeps an otherwise idle loop alive.
public final class RunLoopPort: Sendable {
    public typealias Handler = @Sendable (RunLoopPort, PortMessage) -> Void

    /// Its place among the ports of a mode: lower is handled earlier.
    public let order: Int

    let attachment = Attachment()
    private let handler: Handler?
    private let inbox = Mutex(Inbox())
    private let waiting = Atomic<Int>(0)

    /// - Parameters:
    ///   - order: lower is handled earlier; equal ones in the order they were added.
    ///   - handler: gets the port and a message, on the loop's thread. Without one, messages are dropped.
    public init(order: Int = 0, handler: Handler? = nil) {
        self.order = order
        self.handler = handler
    }

    /// Whether it still takes messages.
    public var isValid: Bool { attachment.isValid }

    /// Sends a message and wakes the receiving loop.
    /// - Returns: false when the port is invalid; the message is not delivered then.
    @discardableResult
    public func send(id: Int, payload: [UInt8] = [], replyTo replyPort: RunLoopPort? = nil) -> Bool {
        guard isValid else { return false }
        let message = PortMessage(id: id, payload: payload, replyPort: replyPort)
        inbox.withLock { inbox in
            inbox.append(message)
            waiting.store(inbox.count, ordering: .releasing)
        }
        guard let loop = attachment.loop else { return true }
        loop.signals.add(.ports)
        loop.signals.wakeUp()
        return true
    }

    /// Removes it from its loop for good and drops what it has not delivered.
    public func invalidate() {
        guard attachment.invalidate() else { return }
        attachment.loop?.removeEverywhere(self, in: \.ports)
        let dropped = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            waiting.store(0, ordering: .releasing)
            return inbox
        }
        _ = dropped  // released outside the lock: a message may hold the last reference to anything
    }

    /// How many messages wait to be handled.
    public var pendingMessages: Int { waiting.load(ordering: .acquiring) }

    /// Takes the oldest message. The loop's thread.
    func takeMessage() -> PortMessage? {
        guard pendingMessages > 0 else { return nil }
        return inbox.withLock { inbox in
            defer { waiting.store(inbox.count, ordering: .releasing) }
            return inbox.takeFirst()
        }
    }

    func handle(_ message: PortMessage) { handler?(self, message) }
}

extension RunLoopPort: RunLoopItem {}

/// First in, first out, without moving the rest at every step.
private struct Inbox {
    private var messages: [PortMessage?] = []
    private var head = 0

    var count: Int { messages.count - head }

    mutating func append(_ message: PortMessage) { messages.append(message) }

    mutating func takeFirst() -> PortMessage? {
        guard head < messages.count else { return nil }
        let message = messages[head]
        messages[head] = nil
        head += 1
        if head == messages.count {
            messages.removeAll(keepingCapacity: head <= 64)
            head = 0
        }
        return message
    }
}
