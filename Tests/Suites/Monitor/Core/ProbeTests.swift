import TestSupport
import Testing

/// What can only be seen in a process in which nothing else goes on: a program of its own, `MonitorProbe`.
struct ProbeTests {
    @Test(arguments: [
        "leftovers", "unwinder", "cycles", "stop-signal", "across-stop", "debugger", "slow-symbolizer", "queue-threads",
        "quota", "no-descriptors", "closed-loop",
    ])
    func `a quiet process`(check: String) throws { try run("MonitorProbe", [check]) }

    /// Loops stall in every way, watched by every rule, and a malloc in front of glibc's counts what the watchdog asks of it.
    @Test func `the watchdog asks malloc for nothing`() throws { try run("AllocationProbe", []) }

    private func run(_ program: String, _ arguments: [String]) throws {
        let outcome = try ProbeOutcome(of: program, arguments)
        #expect(outcome.isFine, "\(outcome.text)")
    }
}
