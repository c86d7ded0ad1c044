public import LagActivity

// Items for a loop. No loop accepts them here (``ObservedRunLoop/add(_:to:)`` is false), so none is ever called.

public final class RunLoopObserver: Sendable {
    public typealias Handler = @Sendable (RunLoopObserver, LoopActivity) -> Void

    public let activities: RunLoopActivities
    public let repeats: Bool
    public let order: Int

    public init(
        activities: RunLoopActivities = .all,
        repeats: Bool = true,
        order: Int = 0,
        handler: @escaping Handler
    ) {
        self.activities = activities
        self.repeats = repeats
        self.order = order
    }

    public var isValid: Bool { false }
    public func invalidate() {}
}

public final class RunLoopSource: Sendable {
    public typealias ModeHandler = @Sendable (ObservedRunLoop, RunLoopMode) -> Void

    public let order: Int

    public init(
        order: Int = 0,
        schedule: ModeHandler? = nil,
        cancel: ModeHandler? = nil,
        perform: @escaping @Sendable () -> Void
    ) {
        self.order = order
    }

    public var isValid: Bool { false }
    public var isSignalled: Bool { false }
    public func signal() {}
    public func signalAndWake() {}
    public func invalidate() {}
}

public final class RunLoopDescriptorSource: Sendable {
    public struct Events: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let readable = Events(rawValue: 1)
        public static let writable = Events(rawValue: 4)
        public static let hangup = Events(rawValue: 16)
    }

    public typealias Handler = @Sendable (RunLoopDescriptorSource, Events) -> Void

    public let descriptor: Int32
    public let events: Events
    public let order: Int

    public init(descriptor: Int32, events: Events = .readable, order: Int = 0, handler: @escaping Handler) {
        self.descriptor = descriptor
        self.events = events
        self.order = order
    }

    public var isValid: Bool { false }
    public var watchError: Int32? { nil }
    public func invalidate() {}
}

public struct PortMessage: Sendable {
    public let id: Int
    public let payload: [UInt8]
    public let replyPort: RunLoopPort?
}

public final class RunLoopPort: Sendable {
    public typealias Handler = @Sendable (RunLoopPort, PortMessage) -> Void

    public static let defaultCapacity = 1 << 20

    public let order: Int
    public let capacity: Int

    public init(order: Int = 0, capacity: Int = RunLoopPort.defaultCapacity, handler: Handler? = nil) {
        self.order = order
        self.capacity = max(1, capacity)
    }

    public var isValid: Bool { false }
    public var pendingMessages: Int { 0 }

    /// False: not delivered.
    @discardableResult
    public func send(id: Int, payload: [UInt8] = [], replyTo replyPort: RunLoopPort? = nil) -> Bool { false }

    public func invalidate() {}
}
