internal import LagMonitor

// Contexts of tasks of the pool, in a program whose main thread runs a run loop.

extension Corpus {
    static let poolContexts: [Scenario] = [
        .service("detached-own-context", "the context of a detached task", ["cpu"], ["Stall.compute"], request: "own") {
            await withStallContext(name: "outer") {
                await Task.detached {
                    await withStallContext(name: "own") {
                        await Task.yield()
                        keep(Stall.compute(for: 450))
                    }
                }.value
            }
        },
        .service(
            "throwing-context",
            "a context that ends with an error later",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Failure.compute"],
            request: "fails"
        ) {
            try? await withStallContext(name: "fails") { () async throws -> Void in
                await Task.yield()
                try Failure.compute(420)
            }
        },
        .service(
            "group-own-contexts",
            "one of eight children, each with a context",
            ["cpu"],
            ["Stall.compute"],
            request: "part 3"
        ) {
            await withStallContext(name: "all") {
                await withTaskGroup(of: Void.self) { group in
                    for part in 0..<8 {
                        group.addTask {
                            await withStallContext(name: "part \(part)") {
                                await Task.yield()
                                if part == 3 { keep(Stall.compute(for: 440)) }
                            }
                        }
                    }
                }
            }
        },
    ]
}

private enum Failure {
    @inline(never) static func compute(_ milliseconds: Int) throws {
        keep(Stall.compute(for: milliseconds))
        throw Refused()
    }
}
