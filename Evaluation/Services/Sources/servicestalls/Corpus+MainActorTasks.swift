internal import Dispatch
internal import Foundation
internal import LagMonitor

// Tasks and contexts of the main actor, whose jobs the main run loop drains.

extension Corpus {
    static let mainActorTasks: [Scenario] = [
        .service(
            "task-chain",
            "a task that computes, with two suspended callers",
            ["cpu"],
            ["Checkout.price"],
            request: "POST /checkout",
            suspended: ["Checkout.place", "Checkout.submit"]
        ) { @MainActor in
            let checkout = Checkout()
            Task(name: "checkout-42") { @MainActor in
                await withStallContext(name: "POST /checkout", ["tenant": "a"]) { keep(await checkout.submit(460)) }
            }
        },
        .service(
            "context-sync-in-async",
            "a synchronous context inside a task's context",
            ["syscall"],
            ["Checkout.block"],
            request: "render cart"
        ) { @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "GET /cart") {
                    await Task.yield()
                    withStallContext(name: "render cart") { checkout.block(420) }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        },
        .service(
            "context-after-sync",
            "a task's context after an inner synchronous one",
            ["syscall"],
            ["Checkout.block"],
            request: "GET /cart"
        ) { @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "GET /cart") {
                    withStallContext(name: "render cart") { keep(1) }
                    await Task.yield()
                    checkout.block(380)
                }
            }
        },
        .service("context-detached", "a detached task, which does not inherit the context", ["syscall"], ["Checkout.block"]) {
            @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "GET /cart") {
                    Task.detached { await checkout.block(410) }
                    try? await Task.sleep(for: .milliseconds(700))
                }
            }
        },
        .service("context-child", "a child of a task with a context", ["cpu"], ["Checkout.price"], request: "GET /prices") {
            @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "GET /prices") {
                    async let price = checkout.price(450)
                    async let pause: Void = { try? await Task.sleep(for: .seconds(1)) }()
                    keep(await price)
                    await pause
                }
            }
        },
        .service(
            "context-unstructured",
            "a task that is created in a context",
            ["syscall"],
            ["Checkout.block"],
            request: "POST /mail"
        ) { @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "POST /mail") {
                    let task = Task { checkout.block(440) }
                    await task.value
                }
            }
        },
        .service("context-outlived", "a task that continues after its context", ["syscall"], ["Checkout.block"]) { @MainActor in
            let checkout = Checkout()
            Task { @MainActor in
                await withStallContext(name: "POST /mail") {
                    await Task.yield()
                    _ = Task {
                        try? await Task.sleep(for: .milliseconds(100))
                        checkout.block(440)
                    }
                }
            }
        },
        .service("twenty-tasks", "one of twenty tasks", ["syscall"], ["Checkout.block"], request: "GET /item/13") { @MainActor in
            Checkout.serve(20, blocking: 13, for: 500)
        },
        .service(
            "twenty-short",
            "one of twenty tasks, slightly longer than the threshold",
            ["syscall"],
            ["Checkout.block"],
            request: "GET /item/4"
        ) { @MainActor in
            Checkout.serve(20, blocking: 4, for: 190)
        },
    ]

    static let mainActorContexts: [Scenario] = [
        .service("crowd-block", "the run loop itself, while twenty contexts are open", ["syscall"], ["Stall.block"]) {
            Crowd.wait(20)
            DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { Stall.block(for: 430) }
        },
        .service("crowd-timer-compute", "a loop that computes while contexts are open", ["cpu"], ["Stall.compute"]) {
            Crowd.wait(20)
            DispatchQueue.main.asyncAfter(deadline: .now() + 0.2) { keep(Stall.compute(for: 460)) }
        },
        .service(
            "cart-crowd",
            "a task's context, while twenty other contexts are open",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Cart.total"],
            request: "GET /total",
            suspended: ["Cart.checkout"]
        ) { @MainActor in
            Crowd.wait(20)
            let cart = Cart()
            await Task(name: "cart") { @MainActor in
                await withStallContext(name: "GET /total") { keep(await cart.checkout(480)) }
            }.value
        },
        .service(
            "task-in-sync-context",
            "a task that was created in a synchronous context, which has ended",
            ["syscall"],
            ["Stall.block"]
        ) {
            DispatchQueue.main.async { withStallContext(name: "enqueue") { _ = Task { @MainActor in Stall.block(for: 440) } } }
        },
        .service("after-throw", "after a context that threw an error", ["syscall"], ["Stall.block"]) { @MainActor in
            try? await withStallContext(name: "failed") { () async throws -> Void in
                await Task.yield()
                throw Refused()
            }
            Stall.block(for: 410)
        },
        .service("sync-after-throw", "after a synchronous context that threw", ["syscall"], ["Stall.block"]) {
            DispatchQueue.main.async {
                try? withStallContext(name: "failed") { throw Refused() }
                Stall.block(for: 400)
            }
        },
        .service(
            "cancelled-context",
            "a task that was cancelled in its context",
            ["syscall"],
            ["Stall.block"],
            request: "cancelled"
        ) { @MainActor in
            let task = Task { @MainActor in
                await withStallContext(name: "cancelled") {
                    try? await Task.sleep(for: .seconds(9))
                    Stall.block(for: 470)
                }
            }
            try? await Task.sleep(for: .milliseconds(60))
            task.cancel()
        },
        .service("sync-three-deep", "the innermost of three contexts", ["cpu"], ["Stall.compute"], request: "three") {
            DispatchQueue.main.async {
                withStallContext(name: "one") {
                    withStallContext(name: "two") { withStallContext(name: "three") { keep(Stall.compute(for: 430)) } }
                }
            }
        },
        .service(
            "main-sync-from-pool",
            "a synchronous context of the main actor inside a context of the pool",
            ["syscall"],
            ["Stall.block"],
            request: "on main"
        ) {
            await withStallContext(name: "pool side") {
                await MainActor.run { withStallContext(name: "on main") { Stall.block(for: 450) } }
            }
        },
    ]
}

@MainActor private final class Checkout {
    private var blocked = 1.5

    @inline(never) func submit(_ milliseconds: Int) async -> Int { await place(milliseconds) + 2 }
    @inline(never) func place(_ milliseconds: Int) async -> Int { await price(milliseconds) + 1 }

    @inline(never) func price(_ milliseconds: Int) async -> Int {
        await Task.yield()
        StalledTime.begin()
        let deadline = Deadline(milliseconds)
        var sum = 1
        while !deadline.isOver { for number in 1..<3_000 { sum = (sum &* number) % 1_000_007 } }
        StalledTime.end()
        return sum
    }

    @inline(never) func block(_ milliseconds: Int) {
        StalledTime.begin()
        blocked *= 2
        sleep(milliseconds: milliseconds)
        StalledTime.end()
    }

    /// Several concurrent requests, of which one blocks.
    static func serve(_ count: Int, blocking: Int, for milliseconds: Int) {
        let checkout = Checkout()
        for item in 0..<count {
            Task { @MainActor in
                await withStallContext(name: "GET /item/\(item)") {
                    try? await Task.sleep(for: .milliseconds(50 + item * 5))
                    if item == blocking { checkout.block(milliseconds) }
                    try? await Task.sleep(for: .milliseconds(300))
                }
            }
        }
    }
}

@MainActor private final class Cart {
    private var sum = 0

    @inline(never) func total(_ milliseconds: Int) async -> Int {
        await Task.yield()
        sum = Stall.compute(for: milliseconds)
        return sum
    }

    @inline(never) func checkout(_ milliseconds: Int) async -> Int { await total(milliseconds) &+ 1 }
}
