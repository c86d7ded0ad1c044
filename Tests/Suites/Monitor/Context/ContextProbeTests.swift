import TestSupport
import Testing

/// Real stalls in a process of their own, of which the truth is known.
@Suite(.serialized) struct ContextProbeTests {
    @Test(arguments: ["shapes", "contexts", "begin", "turns"]) func `what ran is what is reported`(check: String) throws {
        let outcome = try ProbeOutcome(of: "FoundationProbe", [check])
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
