internal import Dispatch
internal import LagMonitor
internal import LagMonitorConcurrency

// Actors on the pool, on run loops and on queues.

extension Corpus {
    static let actors: [Scenario] = [
        .service("actor-cpu", "an actor of the pool", ["cpu"], ["Bookkeeper.settle"], request: "POST /settle") {
            let bookkeeper = Bookkeeper()
            await Task(name: "settle-7") {
                await withStallContext(name: "POST /settle") { keep(await bookkeeper.settle(540)) }
            }.value
        },
        .service(
            "actor-semaphore",
            "an actor that waits for a semaphore",
            ["lock"],
            ["Bookkeeper.waitForArchive", "Bookkeeper.wait"],
            request: "GET /archive"
        ) {
            let bookkeeper = Bookkeeper()
            await withStallContext(name: "GET /archive") { keep(await bookkeeper.waitForArchive(460)) }
        },
        .service(
            "actor-chain",
            "an actor for which two functions of another actor wait",
            ["cpu"],
            ["Bookkeeper.settle"],
            request: "POST /close",
            suspended: ["Bank.endDay", "Bank.endMonth"]
        ) {
            let bank = Bank()
            await withStallContext(name: "POST /close") { keep(await bank.endMonth(480)) }
        },
        .service("detached", "a detached task inside a context", ["cpu"], ["Bookkeeper.settle"], callers: ["Bookkeeper.close"]) {
            let bookkeeper = Bookkeeper()
            await withStallContext(name: "around") {
                let task = Task.detached(name: "detached") { await bookkeeper.close(520) }
                keep(await task.value)
            }
        },
        .service(
            "global-actor",
            "a global actor, called by the main actor",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Tables.vacuum"],
            request: "vacuum",
            suspended: ["TableView.open"]
        ) { @MainActor in
            let (tables, view) = (Tables(), TableView())
            await withStallContext(name: "vacuum") { keep(await view.open(tables, 470)) }
        },
        .service(
            "run-loop-actor",
            "an actor whose executor is a run loop",
            ["syscall"],
            ["Store.compact"],
            callers: ["Store.maintain"],
            request: "compact"
        ) {
            let store = Store(on: Executors.store)
            await Task(name: "maintenance") { await withStallContext(name: "compact") { await store.maintain(520) } }.value
        },
        .service(
            "task-executor",
            "a task that prefers a run loop",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Batch.run"],
            request: "batch"
        ) {
            await withStallContext(name: "batch") {
                await withTaskExecutorPreference(Executors.store) { keep(await Batch.run(420)) }
            }
        },
        .service(
            "queue-executor",
            "an actor whose executor is a queue",
            ["syscall"],
            ["Mailer.send"],
            callers: ["Mailer.flush"],
            request: "mail"
        ) {
            let mailer = Mailer()
            await Task(name: "mailing") { await withStallContext(name: "mail") { await mailer.flush(530) } }.value
        },
        .service("serial-queue", "a block of a serial queue", ["syscall"], ["Stall.block"], request: "queue work") {
            QueueExecutor.jobs.queue.async { withStallContext(name: "queue work") { Stall.block(for: 480) } }
        },
    ]
}

enum Executors {
    /// The executor of a run loop.
    static let store = makeStore()

    private static func makeStore() -> RunLoopExecutor {
        do { return try RunLoopExecutor(name: "store") } catch { fatalError("cannot start a thread for a run loop: \(error)") }
    }
}

/// A custom executor on a queue.
final class QueueExecutor: TaskExecutor, SerialExecutor {
    static let jobs = QueueExecutor()

    let queue = DispatchQueue(label: "jobs")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

private actor Bookkeeper {
    private let entries = Array(0..<2_000)

    @inline(never) func settle(_ milliseconds: Int) -> Int {
        StalledTime.begin()
        defer { StalledTime.end() }
        let deadline = Deadline(milliseconds)
        var sum = 0
        while !deadline.isOver { for entry in entries { sum = (sum &+ entry) % 99_991 } }
        return sum
    }

    @inline(never) func waitForArchive(_ milliseconds: Int) -> Int {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { done.signal() }
        StalledTime.begin()
        Self.wait(for: done)
        StalledTime.end()
        return entries.count
    }

    // This function is not asynchronous, because the compiler rejects such a wait in an asynchronous function.
    private static nonisolated func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

    @inline(never) func close(_ milliseconds: Int) async -> Int { settle(milliseconds) &+ 1 }
}

private actor Bank {
    private let bookkeeper = Bookkeeper()

    @inline(never) func endDay(_ milliseconds: Int) async -> Int {
        let sum = await bookkeeper.settle(milliseconds)
        return sum &+ 1
    }

    @inline(never) func endMonth(_ milliseconds: Int) async -> Int {
        let sum = await endDay(milliseconds)
        return sum &+ 1
    }
}

@globalActor private actor DatabaseActor { static let shared = DatabaseActor() }

@DatabaseActor private final class Tables {
    private var rows = 1

    @inline(never) func vacuum(_ milliseconds: Int) async -> Int {
        await Task.yield()
        rows = Stall.compute(for: milliseconds)
        return rows
    }
}

@MainActor private final class TableView {
    private var rows = 0

    @inline(never) func open(_ tables: Tables, _ milliseconds: Int) async -> Int {
        rows = await tables.vacuum(milliseconds)
        return rows
    }
}

private actor Store {
    private let executor: RunLoopExecutor
    private var pages = 10_000
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(on executor: RunLoopExecutor) { self.executor = executor }

    @inline(never) func maintain(_ milliseconds: Int) async {
        await Task.yield()
        compact(milliseconds)
    }

    @inline(never) func compact(_ milliseconds: Int) {
        StalledTime.begin()
        pages -= milliseconds
        sleep(milliseconds: milliseconds)
        StalledTime.end()
    }
}

private enum Batch {
    @inline(never) static func run(_ milliseconds: Int) async -> Int {
        await Task.yield()
        return Stall.compute(for: milliseconds)
    }
}

private actor Mailer {
    private var sent = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { QueueExecutor.jobs.asUnownedSerialExecutor() }

    @inline(never) func flush(_ milliseconds: Int) async {
        await Task.yield()
        send(milliseconds)
    }

    @inline(never) func send(_ milliseconds: Int) {
        StalledTime.begin()
        sent += 1
        sleep(milliseconds: milliseconds)
        StalledTime.end()
    }
}
