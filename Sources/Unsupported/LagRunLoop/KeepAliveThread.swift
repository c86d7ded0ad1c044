/// A thread on a run loop, which exists only on Linux.
public final class KeepAliveThread: Sendable {
    static let notSupported = RunLoopError.invalidArgument("threads on an ObservedRunLoop are supported only on Linux")

    public let loop: ObservedRunLoop
    public let name: String

    /// - Throws: ``RunLoopError/invalidArgument(_:)``, always.
    public init(name: String, priority: ThreadPriority = .inherited, stackBytes: Int = 512 * 1024) throws {
        throw Self.notSupported
    }

    public var isFinished: Bool { true }
    public var niceValue: Int32 { 0 }
    @discardableResult public func join() -> Bool { true }
    @discardableResult public func perform(_ work: @escaping @Sendable () -> Void) -> Bool { false }

    @discardableResult
    public func performAndWait<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
        throw RunLoopError.loopFinished(name: name)
    }

    public func stop() {}
    public static func stopCurrent() {}
}
