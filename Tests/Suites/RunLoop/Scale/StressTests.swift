import Foundation
internal import LagActivity
import TestSupport
import Testing

/// Eight threads that randomly add, remove, signal, send, perform and end loops: no accepted work is lost.
///
/// Two seconds; `LAG_STRESS_SECONDS` makes it longer.
struct StressTests {
    private static let threads = 8
    private static let seconds = ProcessInfo.processInfo.environment["LAG_STRESS_SECONDS"].flatMap(Double.init) ?? 2

    @Test func `no work is lost among threads that change everything`() throws {
        let arena = try StressArena()
        let end = MonotonicTime.now + .nanoseconds(Int64(Self.seconds * 1e9))
        let seed = UInt64.random(in: 0 ... .max)
        try onThreads(Self.threads) { number in
            var random = SeededGenerator(seed: seed &+ UInt64(number))
            while .now < end { arena.step(&random) }
        }
        let losses = arena.finish()
        #expect(losses.isEmpty, "seed \(seed): \(losses)")
        #expect(arena.steps > 1_000)
    }
}
