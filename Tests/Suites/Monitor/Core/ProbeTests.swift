import TestSupport
import Testing

/// What can only be observed in a process in which nothing else runs: a separate program, `MonitorProbe`.
struct ProbeTests {
    @Test(arguments: [
        "leftovers", "unwinder", "cycles", "stop-signal", "across-stop", "debugger", "slow-symbolizer", "queue-threads",
        "quota", "no-descriptors", "closed-loop",
    ])
    func `the monitor passes its check in a quiet process`(check: String) throws { try run("MonitorProbe", [check]) }

    /// Loops stall in every way, watched by every rule, and a counting malloc in front of glibc's counts the watchdog's
    /// allocations.
    @Test func `the watchdog allocates no memory`() throws { try run("AllocationProbe", []) }

    private func run(_ program: String, _ arguments: [String]) throws {
        let outcome = try ProbeOutcome(of: program, arguments)
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
