internal import LagMonitor

// How asynchronous functions are called: isolation, errors, overrides, closures.

extension Corpus {
    static let asyncFunctions: [Scenario] = [
        .service(
            "at-concurrent",
            "a @concurrent function, called on the main actor",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Steps.concurrent"],
            request: "concurrent"
        ) { @MainActor in
            await withStallContext(name: "concurrent") { keep(await Steps.concurrent(410)) }
        },
        .service(
            "throwing-chain",
            "three callers that can throw",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Steps.fourth"],
            request: "chain",
            suspended: ["Steps.third", "Steps.second", "Steps.first"]
        ) {
            await Task(name: "chain") {
                await withStallContext(name: "chain") { keep((try? await Steps.first(450)) ?? 0) }
            }.value
        },
        .service("race", "the faster of two children", ["cpu"], ["Stall.compute"], callers: ["Steps.fourth"], request: "race") {
            try await withStallContext(name: "race") { keep(try await Steps.race(430)) }
        },
        .service(
            "async-defer",
            "a defer of an asynchronous function",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Steps.deferred"],
            request: "deferred"
        ) {
            await withStallContext(name: "deferred") { keep(await Steps.deferred(400)) }
        },
        .service(
            "closure-chain",
            "a closure for which another closure waits",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Steps.inner"],
            request: "closures",
            suspended: ["Steps.outer", "Steps.closures"]
        ) {
            await withStallContext(name: "closures") { keep(await Steps.closures(420)) }
        },
        .service(
            "async-override",
            "a method of a subclass",
            ["cpu"],
            ["Stall.compute"],
            callers: ["ImageHandler.handle"],
            request: "image",
            suspended: ["MessageHandler.run"]
        ) {
            let handlers: [MessageHandler] = [ImageHandler()]
            await withStallContext(name: "image") { keep(await handlers[0].run(430)) }
        },
        .service(
            "shared-task",
            "a task for which two requests wait, created by the first",
            ["cpu"],
            ["Stall.compute"],
            callers: ["SharedCache.load"],
            request: "first"
        ) {
            let cache = SharedCache()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await withStallContext(name: "first") { keep(await cache.value(7, 460)) } }
                try? await Task.sleep(for: .milliseconds(20))
                group.addTask { await withStallContext(name: "second") { keep(await cache.value(7, 460)) } }
            }
        },
    ]
}

private enum Steps {
    @concurrent @inline(never) static func concurrent(_ milliseconds: Int) async -> Int {
        let sum = Stall.compute(for: milliseconds)
        return sum &+ 1
    }

    @inline(never) static func first(_ milliseconds: Int) async throws -> Int {
        let sum = try await second(milliseconds)
        return sum &+ 1
    }

    @inline(never) static func second(_ milliseconds: Int) async throws -> Int {
        do { return try await third(milliseconds) &+ 1 } catch { return 0 }
    }

    @inline(never) static func third(_ milliseconds: Int) async throws -> Int {
        defer { keep(milliseconds) }
        return try await fourth(milliseconds) &+ 1
    }

    @inline(never) static func fourth(_ milliseconds: Int) async throws -> Int {
        try await Task.sleep(for: .milliseconds(30))
        return Stall.compute(for: milliseconds)
    }

    @inline(never) static func race(_ milliseconds: Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                try await Task.sleep(for: .seconds(5))
                return 1
            }
            group.addTask { try await fourth(milliseconds) }
            let first = try await group.next()
            group.cancelAll()
            return first ?? 0
        }
    }

    @inline(never) static func deferred(_ milliseconds: Int) async -> Int {
        defer { keep(Stall.compute(for: milliseconds)) }
        await Task.yield()
        return 3
    }

    @inline(never) static func closures(_ milliseconds: Int) async -> Int {
        let sum = await outer(inner(milliseconds))(3)
        return sum &+ 1
    }

    /// Created here, so that the compiler does not inline the closures into their caller.
    @inline(never) static func inner(_ milliseconds: Int) -> @Sendable (Int) async -> Int {
        { number in
            await Task.yield()
            return Stall.compute(for: milliseconds) &+ number
        }
    }

    @inline(never) static func outer(_ inner: @escaping @Sendable (Int) async -> Int) -> @Sendable (Int) async -> Int {
        { number in
            let sum = await inner(number)
            return sum &+ 1
        }
    }
}

private class MessageHandler: @unchecked Sendable {  // Unchecked for the subclass: neither class has state.
    @inline(never) func handle(_ milliseconds: Int) async -> Int { 0 }

    @inline(never) func run(_ milliseconds: Int) async -> Int {
        let sum = await handle(milliseconds)
        return sum &+ 1
    }
}

private final class ImageHandler: MessageHandler, @unchecked Sendable {
    @inline(never) override func handle(_ milliseconds: Int) async -> Int {
        let sum = await super.handle(milliseconds)
        await Task.yield()
        return Stall.compute(for: milliseconds) &+ sum
    }
}

private actor SharedCache {
    private var loading: [Int: Task<Int, Never>] = [:]

    @inline(never) func value(_ key: Int, _ milliseconds: Int) async -> Int {
        if let task = loading[key] { return await task.value }
        let task = Task { await self.load(key, milliseconds) }
        loading[key] = task
        return await task.value
    }

    @inline(never) func load(_ key: Int, _ milliseconds: Int) async -> Int {
        await Task.yield()
        return Stall.compute(for: milliseconds)
    }
}
