internal import LagModel
internal import Synchronization

/// What one thread sends another through a ``RunLoopPort``.
public struct PortMessage: Sendable {
    /// The kind of message; the two sides agree on the numbers.
    public let id: Int
    /// The message's content.
    public let payload: [UInt8]
    /// Where a reply goes, if one is wanted.
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
/// Everything here is safe from any thread; a port is in one loop at a time. Messages sent before the port is in a loop wait for
/// it; messages that a loop left when it ended wait for the next loop. A port without senders can keep an otherwise idle loop
/// alive.
public final class RunLoopPort: Sendable, RunLoopItem {
    /// Called on the loop's thread, once per message.
    public typealias Handler = @Sendable (RunLoopPort, PortMessage) -> Void

    /// Its place among the ports of a mode: lower is handled earlier.
    public let order: Int

    /// How many messages can wait in it.
    public let capacity: Int

    let attachment = Attachment()
    private let handler: Handler?
    /// What was sent and not yet fetched. Accessed only in `attachment.withPlace`: whether a message is accepted and where the
    /// port is are decided together.
    nonisolated(unsafe) private var inbox = FIFOQueue<PortMessage>()
    /// What was fetched and not yet handled: senders and the handling thread contend once per batch, not once per message.
    private let fetched = PthreadMutex(FIFOQueue<PortMessage>())
    private let waiting = Atomic<Int>(0)
    /// How many messages the present turn still has to handle. Only the loop's thread uses it.
    let dueMessages = Atomic<Int>(0)

    /// 1,048,576 messages: more than any burst, and a limit for what a loop that does not run can collect.
    public static let defaultCapacity = 1 << 20

    /// - Parameters:
    ///   - order: lower is handled earlier; equal ones in turn.
    ///   - capacity: how many messages can wait, at least 1 (less is taken as 1).
    ///   - handler: receives the port and a message, on the loop's thread. Without a handler, messages are dropped.
    public init(order: Int = 0, capacity: Int = RunLoopPort.defaultCapacity, handler: Handler? = nil) {
        self.order = order
        self.capacity = max(1, capacity)
        self.handler = handler
    }

    /// Whether it still accepts messages.
    public var isValid: Bool { attachment.isValid }

    /// Sends a message and wakes the receiving loop. Returns at once.
    /// - Returns: false if the message is not delivered: the port is invalid, its loop has ended with its thread (and no other
    ///   loop has taken the port since), or ``capacity`` messages are waiting already.
    @discardableResult
    public func send(id: Int, payload: [UInt8] = [], replyTo replyPort: RunLoopPort? = nil) -> Bool {
        let message = PortMessage(id: id, payload: payload, replyPort: replyPort)
        let (isAccepted, loop): (Bool, ObservedRunLoop?) = attachment.withPlace { place in
            let loop: ObservedRunLoop?
            switch place {
            case .attached(let owner): loop = owner
            case .detached: loop = nil
            case .orphaned, .invalid: return (false, nil)
            }
            guard pendingMessages < capacity else { return (false, nil) }
            inbox.append(message)
            waiting.add(1, ordering: .sequentiallyConsistent)
            return (true, loop)
        }
        guard isAccepted else { return false }
        loop?.signals.add(.ports)
        loop?.signals.wakeUp()
        return true
    }

    /// Permanently removes it from its loop and drops undelivered messages.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        guard isFirst else { return }
        loop?.removeEverywhere(self, in: \.ports)
        while takeMessage() != nil {}
    }

    /// How many messages wait to be handled.
    public var pendingMessages: Int { waiting.load(ordering: .acquiring) }

    /// Takes the oldest message. Called on its loop's thread, and on a thread that invalidates the port.
    func takeMessage() -> PortMessage? {
        guard pendingMessages > 0 else { return nil }
        return fetched.withLock { fetched in
            if fetched.isEmpty { attachment.withPlace { _ in fetched.append(takingFrom: &inbox) } }
            let message = fetched.popFirst()
            if message != nil { waiting.subtract(1, ordering: .releasing) }
            return message
        }
    }

    func handle(_ message: PortMessage) { handler?(self, message) }
}
