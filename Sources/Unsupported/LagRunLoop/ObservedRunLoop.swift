public import LagActivity

/// The run loop on platforms other than Linux: it behaves like a loop that has ended with its thread. It accepts no work, and reports
/// that; its runs return at once.
public final class ObservedRunLoop: PingableLoop, TickingLoop, CustomStringConvertible {
    public let name: String
    public let beacon = ActivityBeacon()
    public let thread = ThreadIdentity.current

    init(name: String) { self.name = name }

    public static let main = ObservedRunLoop(name: "main")
    public static let defaultModeOnly: [RunLoopMode] = [.default]
    public static let commonModesOnly: [RunLoopMode] = [.common]

    /// ``main`` on every thread: no loop runs on any thread.
    public static var current: ObservedRunLoop { main }

    /// Nil.
    public static var running: ObservedRunLoop? { nil }

    public var isCurrent: Bool { false }
    public var currentMode: RunLoopMode? { nil }
    public var isWaiting: Bool { false }
    public var isFinished: Bool { true }
    public var description: String { "run loop '\(name)' (not supported on this platform)" }
    public var pingsWithoutLocking: Bool { true }

    public func modeName(_ number: UInt32) -> String? { nil }
    public func wakeUp() {}
    public func ping() {}

    /// Nil: the loop has ended.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? { nil }

    /// Runs `body`.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value { try body() }
}

extension ObservedRunLoop {
    public func run() {}
    public func run(until date: MonotonicTime) {}
    public func run(mode: RunLoopMode, before date: MonotonicTime) -> Bool { false }

    public func run(in mode: RunLoopMode, for duration: Duration, returnAfterSourceHandled: Bool) -> RunLoopResult { .finished }

    public func stop() {}
}

extension ObservedRunLoop {
    /// False: not taken.
    @discardableResult public func add(_ descriptor: RunLoopDescriptorSource, to mode: RunLoopMode) -> Bool { false }
    /// False: not taken.
    @discardableResult public func add(_ observer: RunLoopObserver, to mode: RunLoopMode) -> Bool { false }
    /// False: not taken.
    @discardableResult public func add(_ port: RunLoopPort, to mode: RunLoopMode) -> Bool { false }
    /// False: not taken.
    @discardableResult public func add(_ source: RunLoopSource, to mode: RunLoopMode) -> Bool { false }
    /// False: not taken.
    @discardableResult public func add(_ timer: RunLoopTimer, to mode: RunLoopMode) -> Bool { false }

    public func remove(_ descriptor: RunLoopDescriptorSource, from mode: RunLoopMode) {}
    public func remove(_ observer: RunLoopObserver, from mode: RunLoopMode) {}
    public func remove(_ port: RunLoopPort, from mode: RunLoopMode) {}
    public func remove(_ source: RunLoopSource, from mode: RunLoopMode) {}
    public func remove(_ timer: RunLoopTimer, from mode: RunLoopMode) {}
    public func addCommonMode(_ mode: RunLoopMode) {}
}
