import Synchronization

/// A number that any thread may add to.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public var value: Int { count.load(ordering: .acquiring) }

    /// - Returns: the sum.
    @discardableResult
    public func add(_ amount: Int = 1) -> Int { count.wrappingAdd(amount, ordering: .acquiringAndReleasing).newValue }
}
