import Dispatch
internal import Foundation
import LagMonitor
import Synchronization

/// Stalls of a main queue and a main actor, whatever runs them, and what a record must report about them. For separate programs:
/// exit 0 and `fine`, or 1 and the errors.
package struct MainStalls: Sendable {
    /// What runs the main queue.
    package enum Thread: Sendable {
        /// The main thread, as under `RunLoop.main.run()`.
        case main
        /// Changing threads of Dispatch, as under `dispatchMain()` and `@main` async.
        case worker
    }

    private let monitor = StallMonitor()
    private let reported = CollectedRecords()
    private let thread: Thread

    private static var quietSeconds: Double {
        ProcessInfo.processInfo.environment["LAGMONITOR_QUIET_SECONDS"].flatMap(Double.init) ?? 3
    }

    /// Starts a monitor that pings the main queue; the checks run on a separate thread and exit the process.
    package static func check(on thread: Thread) throws {
        let stalls = MainStalls(thread: thread)
        // Protects against a hang.
        alarm(UInt32(quietSeconds) + 120)
        try stalls.watch()
        Foundation.Thread.detachNewThread { stalls.run() }
    }

    private func watch() throws {
        monitor.onStall(queue: DispatchQueue(label: "reported")) { [reported] in reported.add($0) }
        try monitor.start()
        var rules = StallRules.empty
        // 120 ms: well above the delays of an idle queue on a busy machine.
        rules.ping = .init(interval: .milliseconds(40))
        try monitor.watch(PingedQueue(.main), rules: rules)
    }

    private func run() {
        // Some pings are answered first, so that a last answer exists.
        usleep(200_000)
        var search = StallSearch(monitor)
        DispatchQueue.main.async { [search] in blockTheMainQueue(search) }
        expect("blockTheMainQueue", causes: [.syscall])
        search = StallSearch(monitor)
        Task { @MainActor [search] in await suspendAndBlock(search, waiting: 3) }
        expect("blockTheMainActor", causes: [.syscall], waiting: 3)
        search = StallSearch(monitor)
        Task { @MainActor [search] in await suspendAndCompute(search) }
        // On a busy machine it must wait for a processor.
        expect("computeOnTheMainActor", causes: [.cpu, .runqueue])
        stayQuiet()
        print("fine")
        exit(0)
    }

    /// The next record: exactly one, of this function.
    private func expect(_ function: String, causes: [StallRecord.Cause], waiting: UInt64 = 0) {
        let before = reported.records.count
        guard eventually({ reported.records.count > before }) else { fail("no record of \(function)") }
        // A second record of the same stall would come now.
        usleep(300_000)
        let records = reported.records.dropFirst(before)
        guard records.count == 1, let record = records.first else { fail("\(records.count) records of \(function): \(records)") }
        let symbols = record.frames.compactMap(\.symbol)
        let isOnMain = record.threadID == getpid()
        if record.loop != "main" || record.kind != .ping || record.phase != .end { fail("\(function): \(record)") }
        if record.threadID != Place.thread { fail("\(function) ran on \(Place.thread): \(record)") }
        if isOnMain != (thread == .main) { fail("\(function) ran on \(record.threadID) of \(getpid())") }
        // A thread that waits for a processor does not answer a signal: then there may be no stack.
        if Place.alwaysAnswersInTime {
            if !symbols.contains(where: { $0.contains(function) }) { fail("\(function) is not in \(symbols): \(record)") }
            if !(record.culprit ?? "").contains(function) { fail("the culprit of \(function): \(record)") }
        }
        if !causes.contains(record.cause) { fail("the cause of \(function): \(record)") }
        // Work that waits for a run loop is not in the queue.
        let known = thread == .worker
        if record.evidence.jobsWaiting != (known ? waiting : nil) || record.evidence.pending != (known ? waiting > 0 : nil) {
            fail("what waited for \(function): \(record)")
        }
        // It began between the last answer and the unanswered ping; its end is known to a few milliseconds, on an idle machine.
        let bounds = record.durationBounds ?? record.durationNanoseconds...record.durationNanoseconds
        if bounds.upperBound < Place.nanoseconds || bounds.lowerBound < 120_000_000 {
            fail("\(function) took \(Place.nanoseconds) ns, not \(bounds)")
        }
    }

    /// Much short work on the main queue, the main actor and the pool, tasks that wait, and a time without work: no record.
    /// `LAGMONITOR_QUIET_SECONDS` makes it longer.
    private func stayQuiet() {
        let before = reported.records.count
        let seconds = Self.quietSeconds
        let end = MonotonicTime.now + .nanoseconds(Int(seconds * 1e9))
        let (done, turns, waits) = (Counter(), Counter(), Counter())
        // Never long enough, and nearly always running.
        let busy = Task { @MainActor in
            while !Task.isCancelled {
                let end = MonotonicTime.now + .milliseconds(5)
                while MonotonicTime.now < end {}
                turns.add()
                await Task.yield()
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        // Waits on the main actor, which is free meanwhile.
        let waiting = Task { @MainActor in
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(400))
                waits.add()
            }
        }
        var submitted = 0
        while MonotonicTime.now < end {
            // Work that a busy machine has not done does not accumulate: a long queue in front of a ping would be a stall.
            if submitted - done.value < 60 {
                for _ in 0..<5 {
                    DispatchQueue.main.async { done.add() }
                    Task { @MainActor in done.add() }
                    Task { done.add() }
                    submitted += 3
                }
            }
            usleep(1000)
        }
        busy.cancel()
        waiting.cancel()
        if !eventually({ done.value == submitted }) { fail("only \(done.value) of \(submitted) pieces of work were done") }
        usleep(500_000)
        let records = reported.records.dropFirst(before)
        if !records.isEmpty { fail("\(records.count) records while nothing blocked: \(records)") }
        if submitted < 100 || turns.value < 10 || waits.value == 0 {
            fail("\(submitted) pieces of work, \(turns.value) turns and \(waits.value) waits are not much")
        }
        print("\(Int(Double(submitted) / seconds)) pieces of work a second for \(seconds) s, records: \(records.count)")
    }

    private func fail(_ message: String) -> Never {
        print(message)
        fflush(nil)
        exit(1)
    }
}
