import TestSupport
import Testing

/// The main queue and the main actor under all that may run them. Each can be had only once a process: programs of their own.
struct MainQueueTests {
    @Test(arguments: [["MainActorProbe"], ["FoundationProbe", "dispatch-main"], ["FoundationProbe", "run-loop"]])
    func `stalls are found on their thread and nothing else is`(command: [String]) throws {
        let outcome = try ProbeOutcome(of: command[0], Array(command.dropFirst()))
        #expect(outcome.isFine, "\(outcome.text)")
        print(command.joined(separator: " "), outcome.text, separator: ": ", terminator: "")
    }
}
