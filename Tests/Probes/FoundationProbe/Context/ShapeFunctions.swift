import Foundation
import LagModel
import TestSupport

// The functions of the shapes.

/// Blocks until ``presentSearch`` is over.
@inline(never) func blockHere() {
    repeat { usleep(350_000) } while presentSearch.withLock { $0.map { !$0.isOver } ?? false }
}

let presentSearch = PthreadMutex<StallSearch?>(nil)

enum Plain {
    @inline(never) static func inner(_ number: Int) async -> Int {
        blockHere()
        return number + 1
    }
    @inline(never) static func middle(_ number: Int) async -> Int { await inner(number) * 2 }
    @inline(never) static func outer(_ number: Int) async -> Int { await middle(number) + 1 }

    @inline(never) static func descend(_ depth: Int) async -> Int {
        if depth == 0 { blockHere() }
        return depth == 0 ? 0 : await descend(depth - 1) + 1
    }
    @inline(never) static func top() async -> Int { await descend(3) + 1 }
}

struct ShapeError: Error {}

enum Throwing {
    @inline(never) static func inner(_ number: Int) async throws -> Int {
        blockHere()
        return number + 1
    }
    @inline(never) static func middle(_ number: Int) async throws -> Int { try await inner(number) * 2 }
    @inline(never) static func outer(_ number: Int) async throws -> Int { try await middle(number) + 1 }
    @inline(never) static func typedInner() async throws(ShapeError) { blockHere() }
    @inline(never) static func typed() async throws(ShapeError) {
        try await typedInner()
        usleep(1)
    }
}

enum Suspending {
    @inline(never) static func inner() async {
        try? await Task.sleep(for: .milliseconds(5))
        await Task.yield()
        blockHere()
    }
    @inline(never) static func outer() async {
        await inner()
        usleep(1)
    }
    @inline(never) static func wokenInner() async {
        let sleeper = Task { try? await Task.sleep(for: .seconds(10)) }
        sleeper.cancel()
        _ = await sleeper.value
        blockHere()
    }
    @inline(never) static func woken() async {
        await wokenInner()
        usleep(1)
    }
}

actor Teller {
    private var served = 0
    @inline(never) func count() async {
        blockHere()
        served += 1
    }
    @inline(never) func serve() async {
        await count()
        served += 1
    }
    @inline(never) func ask() async {
        await count()
        served += 1
    }
}

actor Clerk {
    let teller = Teller()
    private var forwarded = 0
    @inline(never) func forward() async {
        await teller.ask()
        forwarded += 1
    }
}

enum Actors {
    @inline(never) static func visit() async {
        await Teller().serve()
        usleep(1)
    }
    @inline(never) static func chain() async {
        await Clerk().forward()
        usleep(1)
    }
}

enum Children {
    @inline(never) static func block(_ number: Int) async -> Int {
        blockHere()
        return number
    }
    @inline(never) static func compute(_ number: Int) async -> Int { await block(number) + 1 }
    @inline(never) static func attemptInner() async throws { blockHere() }
    @inline(never) static func attempt() async throws {
        try await attemptInner()
        usleep(1)
    }
    @inline(never) static func pair() async {
        async let one = compute(1)
        _ = await one
    }
    @inline(never) static func group() async {
        await withTaskGroup(of: Int.self) { group in
            group.addTask { await compute(1) }
            for await number in group where number > 5 { usleep(1) }
        }
    }
    @inline(never) static func throwingGroup() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await attempt() }
            try await group.waitForAll()
        }
    }
}

enum Continuations {
    @inline(never) static func inner() async {
        await withCheckedContinuation { continuation in
            Task.detached { continuation.resume() }
        }
        blockHere()
    }
    @inline(never) static func outer() async {
        await inner()
        usleep(1)
    }
}

enum Handlers {
    @inline(never) static func inner() async { blockHere() }
    @inline(never) static func outer() async {
        await withTaskCancellationHandler {
            await inner()
            usleep(1)
        } onCancel: {
        }
        usleep(1)
    }
}

protocol Worker: Sendable { func work() async }

struct Printer: Worker {
    @inline(never) func work() async { blockHere() }
}

enum Generics {
    @inline(never) static func inner<Value>(_ value: Value) async -> Value {
        blockHere()
        return value
    }
    @inline(never) static func twice<Value>(_ value: Value) async -> [Value] { [await inner(value), value] }
    @inline(never) static func outer() async {
        let values = await twice("value")
        if values.count > 5 { usleep(1) }
    }
    @inline(never) static func dispatch(_ worker: any Worker) async {
        await worker.work()
        usleep(1)
    }
}

enum Closures {
    @inline(never) static func leaf() async { blockHere() }
    @inline(never) static func apply(_ body: () async -> Void) async {
        await body()
        usleep(1)
    }
    @inline(never) static func outer() async {
        await apply(leaf)
        usleep(1)
    }
    @inline(never) static func inner() async {
        await leaf()
        usleep(1)
    }
    @inline(never) static func detached() async { await Task.detached { await inner() }.value }
}

enum Locals {
    @TaskLocal static var value = 0
    @inline(never) static func leaf() async { blockHere() }
    @inline(never) static func inner() async {
        await leaf()
        usleep(1)
    }
    @inline(never) static func outer() async {
        await $value.withValue(1) { await $value.withValue(2) { await inner() } }
        usleep(1)
    }
}

@MainActor enum Screen {
    @inline(never) static func fill() async { blockHere() }
    @inline(never) static func draw() async {
        await fill()
        usleep(1)
    }
    @inline(never) static func show() async {
        await draw()
        usleep(1)
    }
}

enum Sequences {
    @inline(never) static func leaf(_ number: Int) async { if number == 2 { blockHere() } }
    @inline(never) static func outer() async {
        let stream = AsyncStream<Int> { continuation in
            for number in 0..<3 { continuation.yield(number) }
            continuation.finish()
        }
        for await number in stream {
            await leaf(number)
            usleep(1)
        }
    }
}

struct Properties {
    let number: Int
    @inline(never) init() async {
        blockHere()
        number = 1
    }
    init(_ number: Int) { self.number = number }
    var slow: Int {
        @inline(never) get async {
            blockHere()
            return number
        }
    }
    @inline(never) static func outer() async { if await Properties(3).slow > 5 { usleep(1) } }
    @inline(never) static func make() async { if await Properties().number > 5 { usleep(1) } }
}

class Base: @unchecked Sendable {
    @inline(never) func leaf() async { blockHere() }
    @inline(never) func work() async {}
}

final class Derived: Base, @unchecked Sendable {
    @inline(never) override func work() async {
        await leaf()
        usleep(1)
    }
}

enum Classes {
    @inline(never) static func outer() async {
        let object: Base = Derived()
        await object.work()
        usleep(1)
    }
    @inline(never) static func maybe(_ object: Base?) async {
        await object?.leaf()
        usleep(1)
    }
}
