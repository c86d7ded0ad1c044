/// Runs `body`. On Linux it also publishes what the code works on.
public func withStallContext<Result: ~Copyable, Failure: Error>(
    name: @autoclosure () -> String,
    _ attributes: @autoclosure () -> StallAttributes = [:],
    trace: @autoclosure () -> StallTrace? = nil,
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result { try body() }

/// Runs `body`. On Linux it also publishes what the code works on.
public func withStallContext<Result, Failure: Error>(
    name: @autoclosure () -> String,
    _ attributes: @autoclosure () -> StallAttributes = [:],
    trace: @autoclosure () -> StallTrace? = nil,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result { try await body() }

package func areStallContextsWanted() -> Bool { false }
