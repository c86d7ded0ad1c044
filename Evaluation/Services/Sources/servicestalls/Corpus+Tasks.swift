internal import LagMonitor

// Tasks of the pool: groups, children, their contexts, and the tasks that wait for them.

extension Corpus {
    static let tasks: [Scenario] = [
        .service(
            "task-group",
            "one of ten children of a group",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Parts.one"],
            request: "GET /fan"
        ) {
            await withStallContext(name: "GET /fan") { keep(await Parts.group(450)) }
        },
        .service(
            "discarding-group",
            "a child of a discarding group",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Parts.one"],
            request: "GET /drop"
        ) {
            await withStallContext(name: "GET /drop") { await Parts.discardingGroup(410) }
        },
        .service("async-let", "one of two async let", ["cpu"], ["Stall.compute"], callers: ["Parts.one"], request: "GET /pair") {
            await withStallContext(name: "GET /pair") { keep(await Parts.pair(510)) }
        },
        .service("twenty-pool", "one of twenty tasks", ["syscall"], ["Stall.block"], request: "GET /part/9") {
            await withTaskGroup(of: Void.self) { group in
                for part in 0..<20 {
                    group.addTask(name: "part \(part)") {
                        await withStallContext(name: "GET /part/\(part)") {
                            try? await Task.sleep(for: .milliseconds(20 + part * 7))
                            if part == 9 { Stall.block(for: 460) }
                            try? await Task.sleep(for: .milliseconds(200))
                        }
                    }
                }
            }
        },
        .service(
            "two-contexts-one-blocks",
            "one of two children, each with a context",
            ["cpu"],
            ["Stall.compute"],
            request: "left"
        ) {
            async let left: Void = withStallContext(name: "left") {
                await Task.yield()
                keep(Stall.compute(for: 450))
            }
            async let right: Void = withStallContext(name: "right") { try? await Task.sleep(for: .milliseconds(800)) }
            _ = await (left, right)
        },
        .service(
            "pool-short",
            "a task, slightly longer than the threshold",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Parts.one"],
            request: "short"
        ) {
            await withStallContext(name: "short") { keep(await Parts.one(5, 230)) }
        },
        .service(
            "nested-async-contexts",
            "the inner of two contexts",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Parts.one"],
            request: "inner"
        ) {
            await withStallContext(name: "outer") {
                await withStallContext(name: "inner") { keep(await Parts.one(5, 430)) }
                await Task.yield()
            }
        },
        .service(
            "context-over",
            "the outer of two contexts, after the inner one",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Parts.one"],
            request: "outer"
        ) {
            await withStallContext(name: "outer") {
                await withStallContext(name: "inner") { keep(await Parts.one(1, 0)) }
                keep(await Parts.one(5, 430))
            }
        },
        .service(
            "task-local",
            "a caller that binds a task-local value",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Tenant.load"],
            request: "tenant",
            suspended: ["Tenant.run"]
        ) {
            await withStallContext(name: "tenant") { keep(await Tenant.run(490)) }
        },
        .service(
            "existential-async",
            "a method called through its protocol",
            ["syscall", "runqueue"],
            ["DiskRepository.read"],
            callers: ["DiskRepository.find"],
            request: "show",
            suspended: ["Shop.show"]
        ) {
            await withStallContext(name: "show") { keep(await Shop.show(DiskRepository(milliseconds: 430)).count) }
        },
        .service(
            "generic-async",
            "a method called through its protocol by a generic function",
            ["syscall", "runqueue"],
            ["DiskRepository.read"],
            callers: ["DiskRepository.find"],
            request: "page",
            suspended: ["PageService.page"]
        ) {
            await withStallContext(name: "page") {
                keep(await PageService(repository: DiskRepository(milliseconds: 450)).page(4).count)
            }
        },
        .service(
            "recursion",
            "a recursive function, four calls deep",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Shop.descend"],
            request: "tree",
            suspended: ["Shop.descend", "Shop.descend", "Shop.descend", "Shop.descend"]
        ) {
            await withStallContext(name: "tree") { keep(await Shop.descend(4, 500)) }
        },
        .service(
            "async-closure",
            "a closure in an array",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Shop.hooks"],
            request: "hooks",
            suspended: ["Shop.runHooks"]
        ) {
            await withStallContext(name: "hooks") { keep(await Shop.runHooks(440)) }
        },
        .service(
            "async-retry",
            "a closure that a generic function retries",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Shop.attempt"],
            request: "order",
            suspended: ["Shop.retry", "Shop.order"]
        ) {
            await withStallContext(name: "order") { keep(await Shop.order(420)) }
        },
        .service("immediate", "Task.immediate", ["cpu"], ["Stall.compute"], request: "immediate") {
            await withStallContext(name: "immediate") {
                let task = Task.immediate { Stall.compute(for: 410) }
                keep(await task.value)
            }
        },
    ]
}

private enum Parts {
    /// The fifth call computes.
    @inline(never) static func one(_ part: Int, _ milliseconds: Int) async -> Int {
        await Task.yield()
        if part == 5 { return Stall.compute(for: milliseconds) }
        try? await Task.sleep(for: .milliseconds(30))
        return part
    }

    @inline(never) static func group(_ milliseconds: Int) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for part in 0..<10 { group.addTask { await one(part, milliseconds) } }
            var sum = 0
            for await part in group { sum &+= part }
            return sum
        }
    }

    @inline(never) static func discardingGroup(_ milliseconds: Int) async {
        await withDiscardingTaskGroup { group in
            for part in 3..<7 { group.addTask { keep(await one(part, milliseconds)) } }
        }
    }

    @inline(never) static func pair(_ milliseconds: Int) async -> Int {
        async let slow = one(5, milliseconds)
        async let quick = one(1, milliseconds)
        return await slow &+ quick
    }
}

private enum Tenant {
    @TaskLocal static var name = "-"

    @inline(never) static func run(_ milliseconds: Int) async -> Int {
        await $name.withValue("acme") {
            await Task.yield()
            return await load(milliseconds)
        }
    }

    @inline(never) static func load(_ milliseconds: Int) async -> Int {
        await Task.yield()
        return Stall.compute(for: milliseconds + name.count)
    }
}
