internal import LagModel
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
/// wait for it, and those that a loop left behind when it ended wait for the next one. A port without senders is what keeps an otherwise idle loop alive.
public final class RunLoopPort: Sendable, RunLoopItem {
    /// Called on the loop's thread, once a message.
    public typealias Handler = @Sendable (RunLoopPort, PortMessage) -> Void

    /// Its place among the ports of a mode: lower is handled earlier.
    public let order: Int

    /// How many messages can wait in it.
    public let capacity: Int

    let attachment = Attachment()
    private let handler: Handler?
    /// What was sent and not yet fetched. Only reached in `attachment.withPlace`: whether a message is taken and where the port is, is one
    /// question.
    nonisolated(unsafe) private var inbox = FIFOQueue<PortMessage>()
    /// What was fetched and not yet handled: senders meet whoever handles messages once a batch, and not once a message.
    private let fetched = PthreadMutex(FIFOQueue<PortMessage>())
    private let waiting = Atomic<Int>(0)
    /// How many messages the present turn has still to handle. The thread of its loop.
    let dueMessages = Atomic<Int>(0)

    /// 1,048,576 messages: more than any burst, and an end to what a loop that does not run can collect.
    public static let defaultCapacity = 1 << 20

    /// - Parameters:
    ///   - order: lower is handled earlier; equal ones by turns.
    ///   - capacity: how many messages can wait, at least 1 (less is taken as 1).
    ///   - handler: gets the port and a message, on the loop's thread. Without one, messages are dropped.
    public init(order: Int = 0, capacity: Int = RunLoopPort.defaultCapacity, handler: Handler? = nil) {
        self.order = order
        self.capacity = max(1, capacity)
        self.handler = handler
    }

    /// Whether it still takes messages.
    public var isValid: Bool { attachment.isValid }

    /// Sends a message and wakes the receiving loop. Returns at once.
    /// - Returns: false when the message is not delivered: the port is invalid, its loop has ended with its thread (and no other loop has
    ///   taken the port since), or ``capacity`` messages wait already.
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

    /// Removes it from its loop for good and drops what it has not delivered.
    public func invalidate() {
        let (isFirst, loop) = attachment.invalidate()
        guard isFirst else { return }
        loop?.removeEverywhere(self, in: \.ports)
        while takeMessage() != nil {}
    }

    /// How many messages wait to be handled.
    public var pendingMessages: Int { waiting.load(ordering: .acquiring) }

    /// Takes the oldest message. The thread of its loop, and whoever makes it invalid.
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
