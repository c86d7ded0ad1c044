/// Names submitted work, so that it can be cancelled.
public struct PerformKey: Sendable, Hashable, ExpressibleByStringLiteral {
    let target: ObjectIdentifier?
    let name: String?

    public init(_ name: String) { (target, self.name) = (nil, name) }

    public init(_ target: AnyObject, _ name: String? = nil) { (self.target, self.name) = (ObjectIdentifier(target), name) }

    public init(stringLiteral name: String) { self.init(name) }
}

// Work is not accepted: each call fails as for a loop that has ended.
extension ObservedRunLoop {
    public func performNow<Value>(_ work: () throws -> Value) rethrows -> Value { try work() }

    @discardableResult
    public func perform(modes: [RunLoopMode] = ObservedRunLoop.commonModesOnly, _ work: @escaping @Sendable () -> Void) -> Bool {
        false
    }

    @discardableResult
    public func perform(
        after delay: Duration,
        modes: [RunLoopMode] = ObservedRunLoop.defaultModeOnly,
        key: PerformKey? = nil,
        _ work: @escaping @Sendable () -> Void
    ) -> Bool { false }

    /// - Throws: ``RunLoopError/loopFinished(name:)``.
    @discardableResult
    public func performAndWait<Value: Sendable>(
        modes: [RunLoopMode] = ObservedRunLoop.commonModesOnly,
        _ work: @escaping @Sendable () throws -> Value
    ) throws -> Value { throw RunLoopError.loopFinished(name: name) }

    /// - Throws: ``RunLoopError/invalidArgument(_:)``.
    public static func performInBackground(name: String = "background", _ work: @escaping @Sendable () -> Void) throws {
        throw KeepAliveThread.notSupported
    }

    @discardableResult public func cancelPerforms() -> Int { 0 }
    @discardableResult public func cancelPerforms(key: PerformKey) -> Int { 0 }
    @discardableResult public func cancelPerforms(of target: AnyObject) -> Int { 0 }
}
