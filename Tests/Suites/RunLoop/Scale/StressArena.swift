internal import LagActivity
internal import LagModel
import LagRunLoop
import TestSupport

/// Loops that are created and ended, their items, and a count of everything they have accepted. Any thread.
final class StressArena: Sendable {
    /// What was accepted, and what happened to it.
    private struct Account: Sendable {
        let accepted = Counter()
        let settled = Counter()

        var balance: Int { accepted.value - settled.value }
    }

    /// The first ones remain; the others are ended and replaced.
    private static let permanentLoops = 2
    private static let loops = 4

    private let threads: PthreadMutex<[KeepAliveThread]>
    private let permanent: [KeepAliveThread]
    private let ports: [RunLoopPort]
    private let sources: [RunLoopSource]
    private let messages = Account()
    /// On loops that remain: all of it runs, once.
    private let work = Account()
    /// On loops that may end: it runs, or is released without running.
    private let droppable = Account()
    private let delayed = Account()
    private let oneShots = Account()
    private let stepCount = Counter()

    var steps: Int { stepCount.value }

    init() throws {
        let all = try (0..<Self.loops).map { try KeepAliveThread(name: "stress \($0)") }
        threads = PthreadMutex(all)
        permanent = Array(all.prefix(Self.permanentLoops))
        let handled = messages.settled
        ports = (0..<8).map { number in RunLoopPort(order: number % 2) { _, _ in handled.add() } }
        sources = (0..<8).map { number in RunLoopSource(order: number % 2) {} }
    }

    /// One random change of one kind.
    func step(_ random: inout SeededGenerator) {
        stepCount.add()
        switch Int.random(in: 0..<100, using: &random) {
        case ..<25: perform(&random)
        case ..<45: if ports.randomElement(using: &random)!.send(id: 1) { messages.accepted.add() }
        case ..<55: sources.randomElement(using: &random)!.signalAndWake()
        case ..<63: movePort(&random)
        case ..<71: moveSource(&random)
        case ..<78: performAfter(&random)
        case ..<90: changeTimer(&random)
        case ..<95: observe(&random)
        case ..<98: wait(&random)
        default: replaceLoop(&random)
        }
    }

    /// Moves everything to a loop that remains, and waits until no work is left.
    /// - Returns: what is missing, or was done too often.
    func finish() -> [String] {
        let last = permanent[0].loop
        let loops = threads.withLock { $0.map(\.loop) }
        for port in ports {
            while !last.add(port, to: .default) { for loop in loops { loop.remove(port, from: .default) } }
        }
        for source in sources {
            while !last.add(source, to: .default) { for loop in loops { loop.remove(source, from: .default) } }
        }
        let accounts = ["messages": messages, "work": work, "delayed work": delayed, "timers": oneShots]
        _ = eventually { accounts.values.allSatisfy { $0.balance == 0 } && !sources.contains(where: \.isSignalled) }
        var losses = accounts.filter { $0.value.balance != 0 }.map { name, account in
            "\(account.balance) of \(account.accepted.value) \(name)"
        }
        let signalled = sources.count { $0.isSignalled }
        if signalled > 0 { losses.append("\(signalled) signals") }
        for port in ports { port.invalidate() }
        for source in sources { source.invalidate() }
        for thread in threads.withLock({ $0 }) {
            thread.stop()
            thread.join()
        }
        // Together with the loops, all work that they had accepted and not done.
        if !eventually({ droppable.balance == 0 }) { losses.append("\(droppable.balance) pieces of work not released") }
        return losses
    }

    private func anyThread(_ random: inout SeededGenerator) -> KeepAliveThread {
        let index = Int.random(in: 0..<Self.loops, using: &random)
        return threads.withLock { $0[index] }
    }

    private func perform(_ random: inout SeededGenerator) {
        if Bool.random(using: &random) {
            let thread = permanent.randomElement(using: &random)!
            if thread.perform({ [settled = work.settled] in settled.add() }) { work.accepted.add() }
        } else {
            // It is counted when it is released, done or not.
            droppable.accepted.add()
            let tracked = Tracked(droppable.settled)
            anyThread(&random).perform { tracked.touch() }
        }
    }

    private func performAfter(_ random: inout SeededGenerator) {
        let loop = permanent.randomElement(using: &random)!.loop
        let key = PerformKey("key \(Int.random(in: 0..<4, using: &random))")
        if Int.random(in: 0..<4, using: &random) == 0 {
            delayed.settled.add(loop.cancelPerforms(key: key))
        } else {
            let delay = Duration.microseconds(Int.random(in: -100..<2_000, using: &random))
            delayed.accepted.add()
            if !loop.perform(after: delay, key: key, { [settled = delayed.settled] in settled.add() }) { delayed.settled.add() }
        }
    }

    private func changeTimer(_ random: inout SeededGenerator) {
        let loop = permanent.randomElement(using: &random)!.loop
        oneShots.accepted.add()
        let timer = RunLoopTimer(after: .seconds(1_000)) { [settled = oneShots.settled] _ in settled.add() }
        loop.add(timer, to: [.default, .common, .tracking].randomElement(using: &random)!)
        loop.add(timer, to: .default)
        timer.tolerance = .microseconds(Int.random(in: 0..<100, using: &random))
        timer.fireDate = .now + .microseconds(Int.random(in: 0..<1_000, using: &random))
        guard Bool.random(using: &random) else { return }
        // In no loop for a moment; it may have fired before.
        loop.remove(timer, from: .common)
        loop.remove(timer, from: .default)
        loop.remove(timer, from: .tracking)
        if timer.isValid { permanent.randomElement(using: &random)!.loop.add(timer, to: .default) }
    }

    private func movePort(_ random: inout SeededGenerator) {
        let port = ports.randomElement(using: &random)!
        anyThread(&random).loop.remove(port, from: .default)
        anyThread(&random).loop.add(port, to: .default)
    }

    private func moveSource(_ random: inout SeededGenerator) {
        let source = sources.randomElement(using: &random)!
        anyThread(&random).loop.remove(source, from: .default)
        anyThread(&random).loop.add(source, to: .default)
    }

    private func observe(_ random: inout SeededGenerator) {
        let loop = anyThread(&random).loop
        let observer = RunLoopObserver(repeats: Bool.random(using: &random)) { _, _ in }
        loop.add(observer, to: .common)
        observer.invalidate()
    }

    private func wait(_ random: inout SeededGenerator) {
        let thread = anyThread(&random)
        let number = Int.random(in: 0..<1_000, using: &random)
        work.accepted.add()
        do {
            if try thread.performAndWait({ number }) == number { work.settled.add() }
        } catch RunLoopError.loopFinished {
            work.settled.add()
        } catch {}
    }

    private func replaceLoop(_ random: inout SeededGenerator) {
        guard let new = try? KeepAliveThread(name: "stress") else { return }
        let index = Int.random(in: Self.permanentLoops..<Self.loops, using: &random)
        let old = threads.withLock { threads in
            defer { threads[index] = new }
            return threads[index]
        }
        old.stop()
        if Bool.random(using: &random) { old.join() }
    }
}
