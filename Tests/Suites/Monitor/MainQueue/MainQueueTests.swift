import TestSupport
import Testing

/// The main queue and the main actor, under everything that may run them. Each exists once in a process: separate programs.
struct MainQueueTests {
    @Test(arguments: [["MainActorProbe"], ["FoundationProbe", "dispatch-main"], ["FoundationProbe", "run-loop"]])
    func `stalls are found on their thread, and no other stalls are reported`(command: [String]) throws {
        let outcome = try ProbeOutcome(of: command[0], Array(command.dropFirst()))
        #expect(outcome.isFine, "\(outcome.text)")
        print(command.joined(separator: " "), outcome.text, separator: ": ", terminator: "")
    }
}
