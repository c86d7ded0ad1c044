import TestSupport

/// An asynchronous program: its main actor runs on Dispatch's threads, and its main thread runs no work.
@main enum MainActorProbe {
    static func main() async throws {
        try MainStalls.check(on: .worker)
        // Suspended, not blocked: the main actor is free.
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
}
