import TestSupport
import Testing

/// The main loop can only be run by a separate program: `FoundationProbe`.
struct ProbeTests {
    @Test func `stalls of the main loop and of everything it runs are found`() throws {
        let outcome = try ProbeOutcome(of: "FoundationProbe")
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
