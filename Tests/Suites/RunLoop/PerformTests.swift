import Foundation
internal import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagRunLoop

/// Work submitted to a loop, in all forms.
struct PerformTests {
    private struct Refused: Error, Equatable {}

    @Test func `submitted work runs on the thread of the loop, in order`() throws {
        let log = Log<Int>()
        try withThread { thread in
            for number in 0..<1_000 {
                thread.loop.perform {
                    if thread.loop.isCurrent { log.add(number) }
                }
            }
            try thread.performAndWait {}
        }
        #expect(log.all == Array(0..<1_000))
    }

    @Test func `waiting returns the value or the error of the work`() throws {
        try withThread { thread in
            let value = try thread.loop.performAndWait { thread.loop.isCurrent ? 5 : 0 }
            #expect(value == 5)
            #expect(throws: Refused()) { try thread.loop.performAndWait { throw Refused() } }
        }
    }

    @Test func `waiting on the own thread of the loop runs the work at once`() throws {
        try withThread { thread in
            let value = try thread.performAndWait {
                // In a mode in which the loop never runs: on its own thread it does not matter.
                try thread.loop.performAndWait(modes: [RunLoopMode("never")]) { 3 } + thread.loop.performNow { 4 }
            }
            #expect(value == 7)
        }
    }

    @Test func `waiting for a loop that ends throws an error and does not hang`() throws {
        let thread = try KeepAliveThread(name: "ending")
        let waiter = try KeepAliveThread(name: "waiter")
        let outcome = Box<RunLoopError>()
        waiter.perform {
            do { try thread.loop.performAndWait(modes: [RunLoopMode("never")]) {} } catch {
                outcome.value = error as? RunLoopError
            }
        }
        #expect(try eventually { try thread.performAndWait { thread.loop.own.work.count == 1 } }, "it waits")
        #expect(outcome.value == nil)
        thread.stop()
        thread.join()
        #expect(eventually { outcome.value == .loopFinished(name: "ending") })
        #expect(throws: RunLoopError.loopFinished(name: "ending")) { try thread.performAndWait {} }
        waiter.stop()
        waiter.join()
    }

    @Test func `work for other modes waits until they run`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform(modes: [.tracking]) { log.add("tracking") }
            loop.perform(modes: [.default]) { log.add("default") }
            loop.perform(modes: [.tracking, .default]) { log.add("both") }
            #expect(loop.runBriefly() == .finished)
            log.add("-")
            #expect(loop.runBriefly(.tracking) == .finished)
        }
        #expect(log.all == ["default", "both", "-", "tracking"])
    }

    @Test func `work without a mode is refused`() throws {
        try withThread { thread in
            #expect(!thread.loop.perform(modes: []) {})
            #expect(!thread.loop.perform(after: .zero, modes: []) {})
            #expect(throws: RunLoopError.invalidArgument("modes is empty; work needs at least one mode to run in")) {
                try thread.loop.performAndWait(modes: []) {}
            }
        }
    }

    @Test func `work submitted from inside other work runs on a later iteration`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform {
                loop.perform { log.add("inner") }
                log.add("outer")
            }
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == ["outer", "inner"])
    }

    /// Both are queued when the turn begins; the run inside the first must find the second.
    @Test func `a nested run executes work that was submitted after its own work`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .default)
            loop.perform {
                // The limit only protects against a hang: it is stopped at once.
                log.add("\(loop.run(in: .default, for: .seconds(20), returnAfterSourceHandled: false))")
            }
            loop.perform { loop.stop() }
            loop.perform { log.add("behind") }
            #expect(loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) == .timedOut)
        }
        #expect(log.all == ["behind", "stopped"])
    }

    /// Work for another mode is set aside and returns to its place.
    @Test func `work keeps its order across modes and nested runs`() throws {
        let log = Log<Int>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            for number in 0..<300 {
                let modes: [RunLoopMode] = [[.default], [.tracking], [.default, .tracking]][number % 3]
                loop.perform(modes: modes) {
                    log.add(number)
                    guard number == 150 else { return }
                    #expect(loop.run(in: .tracking, for: .zero, returnAfterSourceHandled: false) == .timedOut)
                }
            }
            loop.add(RunLoopPort(), to: .tracking)
            #expect(loop.runBriefly() == .finished)
        }
        let (before, rest) = (log.all.prefix { $0 != 150 }, log.all.drop { $0 != 150 }.dropFirst())
        #expect(Array(before) == (0..<150).filter { $0 % 3 != 1 })
        let nested = rest.prefix { $0 % 3 != 0 }
        #expect(Array(nested) == (0..<300).filter { $0 % 3 == 1 || ($0 > 150 && $0 % 3 == 2) })
        #expect(Array(rest.dropFirst(nested.count)) == (151..<300).filter { $0 % 3 == 0 })
    }

    /// If the kernel handed over a lock each time two threads meet, nearly every submission would be a thread switch.
    @Test func `threads that submit work at the same time rarely wait for each other`() throws {
        let (threads, each) = (8, 20_000)
        let switches = Counter()
        try withThread { thread in
            let done = Counter()
            let loop = thread.loop
            try onThreads(threads) { _ in
                let before = voluntarySwitches()
                for _ in 0..<each { loop.perform { done.add() } }
                switches.add(voluntarySwitches() - before)
            }
            #expect(eventually(seconds: 120) { done.value == threads * each })
        }
        // A few hundred; a quarter of all under ThreadSanitizer while the whole suite runs. With such a lock, 60 to 95 percent.
        #expect(switches.value < threads * each * 2 / 5)
    }

    @Test func `delayed work runs in the order of its delays`() throws {
        let log = Log<String>()
        try withThread { thread in
            thread.loop.perform(after: .milliseconds(400)) { log.add("later") }
            thread.loop.perform(after: .milliseconds(5)) { log.add("sooner") }
            thread.loop.perform(after: .zero) { log.add("next turn") }
            #expect(eventually { log.count == 3 })
        }
        #expect(log.all == ["next turn", "sooner", "later"])
    }

    @Test func `delayed work runs only in its modes`() throws {
        let calls = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform(after: .zero, modes: [.tracking]) { calls.add() }
            #expect(loop.runBriefly() == .finished)
            #expect(calls.value == 0)
            #expect(loop.runBriefly(.tracking) == .finished)
        }
        #expect(calls.value == 1)
    }

    @Test func `pending delayed work can be cancelled by key and by object`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let target = Tracked(Counter())
            loop.perform(after: .milliseconds(5), key: "a") { log.add("a") }
            loop.perform(after: .milliseconds(5), key: "b") { log.add("b") }
            loop.perform(after: .milliseconds(5), key: PerformKey(target, "x")) { log.add("x") }
            loop.perform(after: .milliseconds(5), key: PerformKey(target, "y")) { log.add("y") }
            loop.perform(after: .milliseconds(5)) { log.add("no key") }
            #expect(loop.cancelPerforms(key: "a") == 1)
            #expect(loop.cancelPerforms(key: "a") == 0)
            #expect(loop.cancelPerforms(key: PerformKey(target, "x")) == 1)
            #expect(loop.runBriefly() == .finished)
            loop.perform(after: .milliseconds(5), key: PerformKey(target, "z")) { log.add("z") }
            #expect(loop.cancelPerforms(of: target) == 1)
            loop.perform(after: .seconds(1_000)) { log.add("never") }
            #expect(loop.cancelPerforms() == 1)
            #expect(loop.runBriefly() == .finished)
        }
        #expect(log.all == ["b", "y", "no key"])
    }

    @Test func `cancelled work is released`() throws {
        try withThread { thread in
            let ended = Counter()
            do {
                let tracked = Tracked(ended)
                thread.loop.perform(after: .seconds(1_000), key: "k") { tracked.touch() }
            }
            #expect(ended.value == 0)
            #expect(thread.loop.cancelPerforms(key: "k") == 1)
            try thread.performAndWait {}
            #expect(eventually { ended.value == 1 })
        }
    }

    @Test func `each piece of background work runs on a new thread`() throws {
        let tids = Log<Int32>()
        for _ in 0..<2 { try ObservedRunLoop.performInBackground { tids.add(ThreadIdentity.current.tid) } }
        #expect(eventually { tids.count == 2 })
        #expect(!tids.all.contains(ThreadIdentity.current.tid))
    }
}

/// How often the calling thread has gone to sleep.
private func voluntarySwitches() -> Int {
    var usage = rusage()
    // RUSAGE_THREAD, which is missing in the Glibc module.
    getrusage(__rusage_who_t(1), &usage)
    return usage.ru_nvcsw
}
