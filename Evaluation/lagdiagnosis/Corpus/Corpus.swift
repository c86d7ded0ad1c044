/// All scenarios, in the order in which they are run.
enum Corpus {
    static let scenarios: [Scenario] =
        (computing + foundation + shapes + mixed).map { scenario in scenario.with { $0.needsOwnProcessor = true } }
        + systemCalls + files + locks + semaphores + queues + deadlocks + memory + processors

    static func scenario(named name: String) -> Scenario? { scenarios.first { $0.name == name } }
}
