/// All scenarios, in the order in which they are run.
enum Corpus {
    static let scenarios: [Scenario] =
        (languageValues + languageMembers + languageCalls).grouped(.language) + (libraries + dataLibraries).grouped(.libraries)
        + (waits + descriptorWaits).grouped(.waits)
        + (mainActorTasks + mainActorContexts).grouped(.mainActor) + mainActor.grouped(.mainActor, on: .mainQueue)
        + poolContexts.grouped(.tasks) + (tasks + asyncFunctions + streams + actors).grouped(.tasks, on: .mainQueue)
        + eventLoops.grouped(.servers) + (futures + orderService).grouped(.servers, on: .mainQueue)
}
