package import LagModel

/// Looks up files, lines and inlined functions. The core has no implementation; the module LagSymbols has. **For the reporter
/// thread only.**
package protocol LineSource: Sendable {
    /// Cuts waits short, from any thread.
    var waitLimit: SharedDeadline { get }

    /// The levels of each query's frame, leaf first: inlined functions, and as the last one the function itself. Empty if no line
    /// is known.
    mutating func levels(for queries: [SymbolQuery]) -> [[ResolvedFrame]]

    /// Whether it was queried and has never been able to answer.
    var hasOnlyFailed: Bool { get }

    /// Stops what it has started; the next query may start it again.
    mutating func close()
}

/// How a process creates its line sources. Any thread.
package enum LineSources {
    package typealias Factory = @Sendable (SymbolFiles) -> any LineSource

    private static let factory = PthreadMutex<Factory?>(nil)

    /// From now on, a monitor that starts its reporter creates its line source with this.
    package static func use(_ factory: @escaping Factory) { self.factory.withLock { $0 = factory } }

    package static var areAvailable: Bool { factory.withLock { $0 != nil } }

    package static func make(_ files: SymbolFiles) -> (any LineSource)? { factory.withLock { $0 }?(files) }
}
