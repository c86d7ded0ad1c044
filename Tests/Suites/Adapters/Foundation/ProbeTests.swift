import TestSupport
import Testing

/// The main loop can only be run by a program of its own: `FoundationProbe`.
struct ProbeTests {
    @Test func `the main loop and all that it runs`() throws {
        let outcome = try ProbeOutcome(of: "FoundationProbe")
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
