import Foundation
import LagMonitor
import LagMonitorConcurrency
import Synchronization

/// Async functions that call each other in many ways until one blocks its thread: whether the record's suspended callers are the
/// real ones, in order.
enum Shapes {
    /// The blocking function, and the program's own functions that wait for it, nearest first. Written by hand from the source,
    /// which is the truth.
    struct Shape: Sendable {
        let name: String
        let callers: [String]
        let run: @Sendable () async throws -> Void

        init(_ name: String, _ callers: [String], _ run: @escaping @Sendable () async throws -> Void) {
            self.name = name
            self.callers = callers
            self.run = run
        }
    }

    static let all: [Shape] =
        [
            Shape("plain", ["Plain.middle", "Plain.outer"]) { _ = await Plain.outer(1) },
            Shape("deep", ["Plain.descend", "Plain.top"]) { _ = await Plain.top() },
            Shape("throwing", ["Throwing.middle", "Throwing.outer"]) { _ = try await Throwing.outer(1) },
            Shape("after a suspension", ["Suspending.outer"]) { await Suspending.outer() },
            Shape("actor", ["Teller.serve", "Actors.visit"]) { await Actors.visit() },
            Shape("nested actors", ["Teller.ask", "Clerk.forward", "Actors.chain"]) { await Actors.chain() },
            Shape("async let", ["Children.compute", "Children.pair"]) { await Children.pair() },
            Shape("group", ["Children.compute", "Children.group"]) { await Children.group() },
            Shape("throwing group", ["Children.attempt", "Children.throwingGroup"]) { try await Children.throwingGroup() },
            Shape("continuation", ["Continuations.outer"]) { await Continuations.outer() },
            Shape("cancellation handler", ["Handlers.outer"]) { await Handlers.outer() },
            Shape("generic", ["Generics.twice", "Generics.outer"]) { await Generics.outer() },
            Shape("protocol", ["Generics.dispatch"]) { await Generics.dispatch(Printer()) },
            Shape("closure", ["Closures.outer", "Closures.apply", "Closures.outer"]) { await Closures.outer() },
            Shape("detached", ["Closures.inner", "Closures.detached"]) { await Closures.detached() },
            Shape("task-local", ["Locals.inner", "Locals.outer"]) { await Locals.outer() },
            Shape("main actor", ["Screen.draw", "Screen.show"]) { await Screen.show() },
            Shape("sequence", ["Sequences.outer"]) { await Sequences.outer() },
            Shape("cancelled sleep", ["Suspending.woken"]) { await Suspending.woken() },
            Shape("typed throws", ["Throwing.typed"]) { try await Throwing.typed() },
            Shape("property", ["Properties.outer"]) { await Properties.outer() },
            Shape("initializer", ["Properties.make"]) { await Properties.make() },
            Shape("inherited", ["Derived.work", "Classes.outer"]) { await Classes.outer() },
            Shape("optional chain", ["Classes.maybe"]) { await Classes.maybe(Derived()) },
        ] + Shapes.further

    static func check(only: String?) {
        runInTask {
            let sink = CollectedStalls()
            let monitor = sink.recordingMonitor()
            try monitor.watchConcurrencyPool([.high, .medium])
            try monitor.start()
            try monitor.watch(PingedQueue(.main), rules: .heartbeat)
            guard !monitor.statistics.tasksUnreadable else { FoundationProbe.fail("tasks are not read") }
            var wrong = 0
            for shape in all where only == nil || shape.name == only {
                let found = try await stall(shape, sink)
                let isRight = found.callers == shape.callers
                if !isRight { wrong += 1 }
                let verdict = isRight ? "right" : "WRONG: expected \(shape.callers)"
                print("shape=\"\(shape.name)\" task=\(found.task) callers=\(found.callers) \(verdict)")
                if !isRight || only != nil { print(found.frames.joined(separator: "\n")) }
            }
            monitor.stop()
            print("shapes=\(all.count) wrong=\(wrong)")
            if wrong > 0 { FoundationProbe.fail("\(wrong) shapes are wrong") }
        }
    }

    private static func stall(_ shape: Shape, _ sink: CollectedStalls) async throws -> (
        callers: [String], task: String, frames: [String]
    ) {
        let before = sink.count
        let task = Task.detached(name: shape.name, priority: .medium) { try await shape.run() }
        try await task.value
        for _ in 0..<1000 where sink.count == before { try await Task.sleep(for: .milliseconds(5)) }
        guard let record = sink.records(from: before).first(where: { "\($0.frames.map(\.symbol))".contains("blockHere") }) else {
            return ([], "none", ["no stall"])
        }
        for (callee, caller) in zip(record.frames, record.frames.dropFirst())
        where caller.isAsync == true && caller.symbol == callee.symbol && caller.function?.contains(" apply forwarder ") == true {
            return (["doubled"], "none", [caller.function ?? ""])
        }
        let names = record.frames.filter { $0.isAsync == true && $0.inApp == true }.compactMap(\.symbol).map(short)
            // The shape's own closure, and its caller.
            .filter { !$0.contains("Shapes") }
        // A closure and the function around it have the same short name, as does a recursion.
        let callers = zip(names, [""] + names).filter { $0 != $1 }.map(\.0)
        return (
            callers, record.task.map { "\($0.name ?? "-")/\($0.priority ?? 0)" } ?? "none",
            record.frames.map {
                "   \($0.isAsync == true ? "~" : " ") \($0.inApp == true ? "*" : " ") \($0.symbol ?? "?") \(($0.file ?? "").split(separator: "/").last ?? ""):\($0.line ?? 0)"
            }
        )
    }

    /// `FoundationProbe.Plain.outer` and closures in it become `Plain.outer`.
    private static func short(_ symbol: String) -> String {
        var name = symbol
        if let range = name.range(of: " in FoundationProbe.") ?? name.range(of: "FoundationProbe.") {
            name = String(name[range.upperBound...])
        }
        if name.hasPrefix("FoundationProbe.") { name = String(name.dropFirst("FoundationProbe.".count)) }
        return name.split(separator: ".").prefix(2).joined(separator: ".")
    }
}

@inline(never) func blockHere() { usleep(350_000) }

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
