import TestSupport
import Testing

/// Real stalls in a separate process; the probe knows the truth.
@Suite(.serialized) struct ContextProbeTests {
    @Test(arguments: ["shapes", "contexts", "begin", "turns"])
    func `the reported work is the work that ran`(check: String) throws {
        let outcome = try ProbeOutcome(of: "FoundationProbe", [check])
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
