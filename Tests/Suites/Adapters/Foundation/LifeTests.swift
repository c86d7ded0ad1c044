import CLagBeacon
import CoreFoundation
import Foundation
import LagMonitor
import LagMonitorFoundation
import Synchronization
import TestSupport
import Testing

extension FoundationTests {
    @Suite struct LifeTests {
        @Test func `the thread of a loop is known from any thread`() {
            let thread = LoopThread(name: "far", watchesItself: false)
            defer { thread.stop() }
            let loop = FoundationLoop(thread.runLoop)
            let tid = Mutex<Int32>(0)
            thread.performAndWait { tid.withLock { $0 = ThreadIdentity.current.tid } }
            #expect(loop.thread.tid == tid.withLock { $0 } && loop.thread.stackLow > 0 && loop.name == "far")
            #expect(eventually { loop.beacon.activity == .waiting })
        }

        @Test func `the main loop can be observed before it runs`() {
            let loop = FoundationLoop(RunLoop.main)
            #expect(loop.thread == .main && loop.name == "main" && loop.beacon.activity == .notRunning)
        }

        @Test func `a loop ends with its thread`() throws {
            let thread = LoopThread(name: "ending")
            let loop = thread.loop
            let watching = try Watching(loop)
            defer { watching.monitor.stop() }
            #expect(eventually { loop.beacon.activity == .waiting } && !loop.isFinished)
            thread.stop()
            #expect(eventually { loop.isFinished })
            loop.ping()
            #expect(loop.startTicking(every: .milliseconds(10)) {} == nil)
            #expect(watching.stalls.isEmpty)
        }

        @Test func `a released loop no longer publishes`() {
            let thread = LoopThread(name: "released", watchesItself: false)
            defer { thread.stop() }
            weak var gone: FoundationLoop?
            let beacon: ActivityBeacon
            do {
                let loop = FoundationLoop(thread.runLoop)
                gone = loop
                beacon = loop.beacon
                #expect(eventually { beacon.activity == .waiting })
            }
            #expect(gone == nil)
            // The call that may have been in progress.
            thread.performAndWait {}
            thread.performAndWait {}
            let sequence = beacon.sequence
            for _ in 0..<10 { thread.performAndWait {} }
            #expect(beacon.sequence == sequence)
        }

        /// Attached and detached from outside while the loop turns as fast as it can; the beacon must be released with the last
        /// observer.
        @Test func `attaching and detaching is safe under load`() {
            let thread = LoopThread(name: "churn", watchesItself: false)
            defer { thread.stop() }
            let source = SelfSignallingSource(on: thread.core)
            source.start()
            weak var beacon: ActivityBeacon?
            for _ in 0..<300 {
                let loop = FoundationLoop(thread.runLoop)
                beacon = loop.beacon
            }
            source.stop()
            thread.performAndWait {}
            #expect(eventually(seconds: 5) { beacon == nil })
        }

        @Test func `a waiting loop answers a ping`() {
            let thread = LoopThread(name: "pinged")
            defer { thread.stop() }
            let loop = thread.loop
            for _ in 0..<3 {
                let before = MonotonicTime.now.nanoseconds
                loop.ping()
                #expect(eventually { loop.beacon.raw.pointee.pong_ns >= before })
            }
        }

        @Test func `ticks continue until they are cancelled`() throws {
            let thread = LoopThread(name: "ticking")
            defer { thread.stop() }
            let count = Counter()
            let ticker = try #require(thread.loop.startTicking(every: .milliseconds(5)) { count.add() })
            #expect(eventually { count.value >= 5 })
            ticker.cancel()
            thread.performAndWait {}
            let last = count.value
            usleep(50_000)
            #expect(count.value == last)
        }

        @Test func `a run without any items ends as it does without observers`() {
            let done = DispatchSemaphore(value: 0)
            let thread = Thread {
                let loop = FoundationLoop(RunLoop.current)
                RunLoop.current.run()
                #expect(loop.beacon.activity == .notRunning)
                done.signal()
            }
            thread.start()
            #expect(done.wait(timeout: .now() + 20) == .success)
        }
    }
}

/// Keeps a loop turning with a manual source that signals itself.
final class SelfSignallingSource: Sendable {
    private let isOn = Atomic<Bool>(false)
    private let source = Mutex<ManualSource?>(nil)
    let turns = Counter()

    init(on loop: CFRunLoop) {
        let made = ManualSource(on: loop) { [weak self] in self?.turn() }
        source.withLock { $0 = made }
    }

    func start() {
        isOn.store(true, ordering: .releasing)
        source.withLock { $0 }?.signal()
    }

    func stop() { isOn.store(false, ordering: .releasing) }

    private func turn() {
        turns.add()
        if isOn.load(ordering: .acquiring) { source.withLock { $0 }?.signal() }
    }
}
