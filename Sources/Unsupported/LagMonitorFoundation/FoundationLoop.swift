public import Foundation
public import LagActivity

/// A Foundation `RunLoop` that could be watched on Linux.
public final class FoundationLoop: PingableLoop, TickingLoop {
    public let beacon = ActivityBeacon()
    public let name: String

    public init(_ runLoop: RunLoop, modes: [RunLoop.Mode] = []) { name = runLoop === RunLoop.main ? "main" : "run loop" }

    public var thread: ThreadIdentity { .current }
    public var isFinished: Bool { false }
    public func modeName(_ number: UInt32) -> String? { nil }
    public func ping() {}
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? { nil }

    /// Runs `body`.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value { try body() }
}
