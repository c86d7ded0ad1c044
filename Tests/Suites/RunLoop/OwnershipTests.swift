import Foundation
internal import LagActivity
import Synchronization
import TestSupport
import Testing

@testable import LagRunLoop

/// Each item belongs to exactly one loop, even while its loop ends.
struct OwnershipTests {
    @Test func `a source that its cancel callback adds to another loop stays there`() throws {
        try withThread { there in
            let performed = Counter()
            let added = Log<Bool>()
            let box = Box<RunLoopSource>()
            let source = RunLoopSource(
                cancel: { loop, _ in if loop !== there.loop { added.add(there.loop.add(box.value!, to: .default)) } },
                perform: { performed.add() }
            )
            box.value = source
            let here = try KeepAliveThread(name: "ending")
            // In several modes, so that several callbacks are called.
            here.loop.add(source, to: .default)
            here.loop.add(source, to: .tracking)
            here.stop()
            here.join()
            #expect(added.all == [true, true])
            source.signalAndWake()
            #expect(eventually { performed.value == 1 })
            source.invalidate()
            box.value = nil
        }
    }

    /// A port moves to another loop while its own loop ends, with a message sent at the same time.
    @Test func `a port that moves while its loop ends is not lost`() throws {
        let (batches, batch) = (100, 100)
        try withThread { there in
            let handled = Counter()
            var sent = 0
            for _ in 0..<batches {
                var ports: [RunLoopPort] = []
                for trial in 0..<batch {
                    let port = RunLoopPort { _, _ in handled.add() }
                    ports.append(port)
                    let ready = DispatchSemaphore(value: 0)
                    let start = Flag()
                    try ObservedRunLoop.performInBackground(name: "ending") {
                        let here = ObservedRunLoop.current
                        here.add(port, to: .common)
                        here.add(port, to: .tracking)
                        ready.signal()
                        while !start.isSet { sched_yield() }
                        // The thread ends now, and its loop with it.
                    }
                    ready.wait()
                    start.set()
                    for _ in 0..<(trial % 7) * 20 { spin() }
                    while !there.loop.add(port, to: .default) { sched_yield() }
                    if port.send(id: trial) { sent += 1 }
                }
                if !eventually(seconds: 10, { handled.value == sent }) { break }
                for port in ports { port.invalidate() }
            }
            #expect(sent == batches * batch)
            #expect(handled.value == sent, "\(sent - handled.value) lost")
        }
    }

    @Test func `an item that was moved is not removed by its former loop`() throws {
        try withThread { here in
            try withThread { there in
                let fired = Counter()
                let timer = RunLoopTimer(after: .milliseconds(20)) { _ in fired.add() }
                here.loop.add(timer, to: .default)
                #expect(!there.loop.add(timer, to: .default), "in one loop at a time")
                here.loop.remove(timer, from: .default)
                #expect(there.loop.add(timer, to: .default))
                here.loop.remove(timer, from: .default)
                #expect(timer.attachment.loop === there.loop)
                #expect(eventually { fired.value == 1 })
            }
        }
    }
}

/// Set once, by any thread.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}

/// Takes a moment.
@inline(never) private func spin() {}
