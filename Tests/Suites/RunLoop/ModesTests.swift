internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// One mode at a time; `common` is a set of modes.
struct ModesTests {
    private static let custom = RunLoopMode("custom")

    @Test func `equal names give equal modes`() {
        #expect(RunLoopMode("custom") == RunLoopMode("custom"))
        #expect(RunLoopMode("custom") != RunLoopMode("another"))
        #expect(RunLoopMode("default") == .default)
        #expect(RunLoopMode.tracking.name == "tracking")
        #expect(RunLoopMode.default.number != 0)
    }

    @Test func `in a custom mode a timer of the default mode does not fire, but a common one does`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.addCommonMode(ModesTests.custom)
            loop.add(RunLoopTimer(after: .milliseconds(1)) { _ in log.add("default") }, to: .default)
            loop.add(
                RunLoopTimer(after: .milliseconds(30)) { _ in
                    log.add("common")
                    loop.stop()
                },
                to: .common
            )
            #expect(loop.runBriefly(ModesTests.custom) == .stopped)
            #expect(log.all == ["common"])
            #expect(loop.runBriefly() == .finished, "the default mode runs dry after its timer")
        }
        #expect(log.all == ["common", "default"])
    }

    @Test func `common items are added to a mode that becomes common later`() throws {
        let log = Log<String>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let late = RunLoopMode("late")
            let port = RunLoopPort { _, _ in log.add("port") }
            let source = RunLoopSource(schedule: { _, mode in log.add("scheduled in \(mode)") }, perform: { log.add("source") })
            loop.add(port, to: .common)
            loop.add(source, to: .common)
            loop.add(RunLoopObserver(activities: .entry) { _, _ in log.add("observer") }, to: .common)
            loop.add(RunLoopTimer(after: .milliseconds(20)) { _ in loop.stop() }, to: .common)
            #expect(loop.runBriefly(late) == .finished, "not a member yet")
            loop.addCommonMode(late)
            loop.addCommonMode(late)
            source.signal()
            port.send(id: 1)
            #expect(loop.runBriefly(late) == .stopped)
        }
        #expect(log.all == ["scheduled in default", "scheduled in late", "observer", "source", "port"])
    }

    @Test func `removing an item from common removes it from every common mode`() throws {
        let fired = Counter()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.addCommonMode(ModesTests.custom)
            let timer = RunLoopTimer(after: .zero) { _ in fired.add() }
            loop.add(timer, to: .common)
            loop.remove(timer, from: .common)
            #expect(loop.runBriefly() == .finished)
            #expect(loop.runBriefly(ModesTests.custom) == .finished)
            #expect(loop.add(timer, to: ModesTests.custom), "a removed timer stays valid")
            #expect(loop.runBriefly(ModesTests.custom) == .finished)
        }
        #expect(fired.value == 1)
    }

    @Test func `a loop cannot run in the common set itself`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.add(RunLoopPort(), to: .common)
            #expect(loop.run(in: .common, for: .seconds(20), returnAfterSourceHandled: false) == .finished)
        }
    }

    @Test func `the current mode is published during a run and restored after a nested run`() throws {
        let modes = Log<RunLoopMode?>()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            loop.perform {
                modes.add(loop.currentMode)
                loop.perform(modes: [ModesTests.custom]) { modes.add(loop.currentMode) }
                #expect(loop.runBriefly(ModesTests.custom) == .finished)
                modes.add(loop.currentMode)
                #expect(loop.modeName(loop.beacon.mode) == "default")
            }
            #expect(loop.runBriefly() == .finished)
            modes.add(loop.currentMode)
        }
        #expect(modes.all == [.default, ModesTests.custom, .default, nil])
    }

    @Test func `an item can be in only one loop at a time`() throws {
        let timer = RunLoopTimer(after: .seconds(1_000)) { _ in }
        try withThread { first in
            try withThread { second in
                #expect(first.loop.add(timer, to: .default))
                #expect(!second.loop.add(timer, to: .default))
                first.loop.remove(timer, from: .default)
                #expect(second.loop.add(timer, to: .default))
                timer.invalidate()
                #expect(!first.loop.add(timer, to: .default), "an invalid item is refused")
            }
        }
    }
}
