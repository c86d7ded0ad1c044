import Foundation

extension Shapes {
    static let further: [Shape] = [
        Shape("throwing actor", ["Safe.open", "Vault.enter"]) { try await Vault.enter() },
        Shape("generic actor", ["Box.put", "Vault.store"]) { await Vault.store() },
        Shape("global actor", ["Ledger.book", "Ledger.close"]) { await Ledger.close() },
        Shape("isolated parameter", ["Vault.use", "Vault.lend"]) { await Vault.lend() },
        Shape("task of an actor", ["Teller.serve", "Vault.later"]) { await Vault.later() },
        Shape("throwing continuation", ["Resumed.outer"]) { try await Resumed.outer() },
        Shape("discarding group", ["Children.compute", "Resumed.discarding"]) { await Resumed.discarding() },
        Shape("sequence of its own", ["Countdown.Iterator", "Resumed.iterate"]) { await Resumed.iterate() },
        Shape("cancelled", ["Resumed.cleanUp", "Resumed.cancelled"]) { await Resumed.cancelled() },
    ]
}

actor Safe {
    private var opened = 0
    @inline(never) func turn() async throws {
        blockHere()
        opened += 1
    }
    @inline(never) func open() async throws {
        try await turn()
        opened += 1
    }
}

actor Box<Value: Sendable> {
    private var values: [Value] = []
    @inline(never) func hold(_ value: Value) async {
        blockHere()
        values.append(value)
    }
    @inline(never) func put(_ value: Value) async {
        await hold(value)
        values.append(value)
    }
}

@globalActor actor Accounting {
    static let shared = Accounting()
}

@Accounting enum Ledger {
    @inline(never) static func count() async { blockHere() }
    @inline(never) static func book() async {
        await count()
        usleep(1)
    }
    @inline(never) static func close() async {
        await book()
        usleep(1)
    }
}

enum Vault {
    @inline(never) static func enter() async throws {
        try await Safe().open()
        usleep(1)
    }
    @inline(never) static func store() async {
        await Box<String>().put("gold")
        usleep(1)
    }
    @inline(never) static func use(_ teller: isolated Teller) async {
        await teller.count()
        usleep(1)
    }
    @inline(never) static func lend() async {
        await use(Teller())
        usleep(1)
    }
    @inline(never) static func later() async {
        let teller = Teller()
        await Task { await teller.serve() }.value
    }
}

struct Countdown: AsyncSequence {
    struct Iterator: AsyncIteratorProtocol {
        var number = 3
        @inline(never) mutating func next() async -> Int? {
            number -= 1
            await Resumed.leaf(number)
            return number > 0 ? number : nil
        }
    }
    func makeAsyncIterator() -> Iterator { Iterator() }
}

enum Resumed {
    @inline(never) static func leaf(_ number: Int) async { if number == 1 { blockHere() } }
    @inline(never) static func inner() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Task.detached { continuation.resume() }
        }
        blockHere()
    }
    @inline(never) static func outer() async throws {
        try await inner()
        usleep(1)
    }
    @inline(never) static func discarding() async {
        await withDiscardingTaskGroup { group in group.addTask { _ = await Children.compute(1) } }
    }
    @inline(never) static func iterate() async {
        for await number in Countdown() where number > 5 { usleep(1) }
    }
    @inline(never) static func cleanUp() async {
        await leaf(1)
        usleep(1)
    }
    @inline(never) static func cancelled() async {
        let task = Task {
            do { try await Task.sleep(for: .seconds(600)) } catch { await cleanUp() }
        }
        task.cancel()
        await task.value
    }
}
