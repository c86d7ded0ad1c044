import Foundation
import LagMonitor
import LagMonitorConcurrency

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
                let found = try await stall(shape, sink, monitor)
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

    private static func stall(_ shape: Shape, _ sink: CollectedStalls, _ monitor: StallMonitor) async throws -> (
        callers: [String], task: String, frames: [String]
    ) {
        let record = try await sink.record(
            of: { try await Task.detached(name: shape.name, priority: .medium) { try await shape.run() }.value },
            by: monitor
        )
        guard let record else { return ([], "none", ["no stall"]) }
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
