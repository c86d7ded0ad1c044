internal import CLagBeacon
import Dispatch
import Glibc
internal import LagActivity
import LagRunLoop
import TestSupport

/// The main thread's loop: main queue, main actor, and the loop as other threads see it.
enum MainLoopProbe {
    static func run() {
        let main = ObservedRunLoop.main
        Checks.expect(main === ObservedRunLoop.current, "current on the main thread is main")
        Checks.expect(main.isCurrent && main.name == "main", "the main loop knows itself")
        Checks.expect(
            main.run(in: .default, for: .milliseconds(20), returnAfterSourceHandled: false) == .timedOut,
            "the main loop is never empty: the main queue may send work"
        )
        mainQueue(main)
        mainActor(main)
        otherModes(main)
        nesting(main)
        neverQuiet(main)
        pings(main)
        otherThreads(main)
    }

    private static var isMainThread: Bool { ThreadIdentity.current.tid == getpid() }

    private static func mainQueue(_ main: ObservedRunLoop) {
        let onMain = Counter()
        // Before the loop runs, and from another thread while it sleeps.
        DispatchQueue.main.async { if isMainThread { onMain.add() } }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) {
            DispatchQueue.main.async {
                if isMainThread { onMain.add() }
                main.stop()
            }
        }
        let result = main.run(in: .default, for: .seconds(20), returnAfterSourceHandled: false)
        Checks.expect(result == .stopped && onMain.value == 2, "main queue blocks run on the main thread")

        for _ in 0..<100 { DispatchQueue.main.async { onMain.add() } }
        DispatchQueue.main.async { main.stop() }
        main.run()
        Checks.expect(onMain.value == 102, "many main queue blocks run in one go")

        DispatchQueue.main.async {}
        Checks.expect(
            main.run(in: .default, for: .seconds(20), returnAfterSourceHandled: true) == .handledSource,
            "draining the main queue counts as a handled source"
        )
    }

    private static func mainActor(_ main: ObservedRunLoop) {
        let turns = Counter()
        Task.detached {
            for _ in 0..<10 {
                await MainActor.run { if isMainThread { turns.add() } }
                await Task.yield()
            }
            main.stop()
        }
        main.run()
        Checks.expect(turns.value == 10, "main actor work runs on the main thread")
    }

    private static func otherModes(_ main: ObservedRunLoop) {
        let mode = RunLoopMode("probe-private")
        let ran = Counter()
        let port = RunLoopPort()
        main.add(port, to: mode)
        DispatchQueue.main.async { ran.add() }
        let inPrivate = main.run(in: mode, for: .milliseconds(50), returnAfterSourceHandled: false)
        let ranInPrivate = ran.value == 1
        _ = main.run(in: .default, for: .milliseconds(50), returnAfterSourceHandled: false)
        Checks.expect(
            inPrivate == .timedOut && !ranInPrivate && ran.value == 1,
            "a mode that is not common leaves the main queue alone; the next common one serves it"
        )
        port.invalidate()
    }

    private static func nesting(_ main: ObservedRunLoop) {
        let log = Notes<String>()
        DispatchQueue.main.async {
            log.add("outer begins")
            DispatchQueue.main.async { log.add("inner block") }
            let port = RunLoopPort()
            main.add(port, to: .default)
            _ = main.run(in: .default, for: .milliseconds(50), returnAfterSourceHandled: false)
            port.invalidate()
            log.add("outer ends")
            DispatchQueue.main.async { main.stop() }
        }
        _ = main.run(in: .default, for: .seconds(20), returnAfterSourceHandled: false)
        Checks.expect(
            log.all == ["outer begins", "outer ends", "inner block"],
            "a run inside a main queue block does not drain the queue: it is serial"
        )
    }

    private static func neverQuiet(_ main: ObservedRunLoop) {
        let woken = Notes<UInt64>()
        // Each block submits the next, so the queue is never empty; and each takes a moment, like real work.
        @Sendable func next() {
            woken.add(clb_beacon_woke_ns(main.beacon.raw))
            usleep(100)
            if woken.all.count < 50 { DispatchQueue.main.async { next() } } else { main.stop() }
        }
        DispatchQueue.main.async { next() }
        _ = main.run(in: .default, for: .seconds(20), returnAfterSourceHandled: false)
        Checks.expect(
            woken.all.count == 50 && Set(woken.all.dropFirst()).count == 1,
            "a main queue that is never empty leaves the loop no rest"
        )
    }

    private static func pings(_ main: ObservedRunLoop) {
        let queue = PingedQueue(.main)
        main.ping()
        queue.ping()
        _ = main.run(in: .default, for: .milliseconds(50), returnAfterSourceHandled: false)
        Checks.expect(
            clb_beacon_pong_ns(main.beacon.raw) > 0 && clb_beacon_pong_ns(queue.beacon.raw) > 0,
            "the main loop answers, and the main queue does for itself"
        )
    }

    private static func otherThreads(_ main: ObservedRunLoop) {
        let log = Notes<Bool>()
        let timer = RunLoopTimer(after: .milliseconds(10)) { _ in log.add(isMainThread) }
        DispatchQueue.global().async {
            let same = ObservedRunLoop.main === main && !main.isCurrent
            log.add(same)
            main.add(timer, to: .common)
            let value = try? main.performAndWait { isMainThread }
            log.add(value == true)
            _ = eventually { !timer.isValid }
            main.stop()
        }
        main.run()
        Checks.expect(log.all == [true, true, true], "other threads reach the main loop")
        Checks.expect(main.beacon.activity == .notRunning && main.currentMode == nil, "after a run the main loop is at rest")
    }
}
