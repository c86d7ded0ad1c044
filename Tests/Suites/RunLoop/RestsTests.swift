internal import CLagBeacon
import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// What counts as a rest of the loop: only a wait that found no work.
struct RestsTests {
    @Test func `a nested run restarts the outer callout and is not a rest`() throws {
        try withThread { thread in
            let beacon = thread.loop.beacon
            try thread.performAndWait {
                let (woke, callout) = (beacon.wokeNanoseconds, beacon.calloutNanoseconds)
                usleep(2_000)
                let loop = ObservedRunLoop.current
                for _ in 0..<10 { _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) }
                #expect(beacon.activity == .beforeSources || beacon.activity == .afterWaiting)
                #expect(beacon.calloutNanoseconds >= callout + 2_000_000)
                #expect(beacon.wokeNanoseconds == woke)
            }
        }
    }

    @Test func `a nested run that sleeps is a rest`() throws {
        try withThread { thread in
            let beacon = thread.loop.beacon
            try thread.performAndWait {
                let woke = beacon.wokeNanoseconds
                let loop = ObservedRunLoop.current
                _ = loop.run(in: .default, for: .milliseconds(5), returnAfterSourceHandled: false)
                #expect(beacon.wokeNanoseconds >= woke + 4_000_000)
            }
        }
    }

    @Test func `the end of a sleep and an outermost entry are rests`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let seen = Log<UInt64>()
            loop.perform { seen.add(loop.beacon.wokeNanoseconds) }
            loop.add(RunLoopTimer(after: .milliseconds(20)) { _ in seen.add(loop.beacon.wokeNanoseconds) }, to: .default)
            let begin = MonotonicTime.now.nanoseconds
            #expect(loop.runBriefly() == .finished)
            #expect(seen.all[0] >= begin)
            #expect(seen.all[1] >= begin + 15_000_000)
            let last = loop.beacon.wokeNanoseconds
            usleep(2_000)
            loop.perform { seen.add(loop.beacon.wokeNanoseconds) }
            #expect(loop.runBriefly() == .finished)
            #expect(seen.all[2] > last)
        }
    }

    /// `while … { loop.run(mode:before:) }`, as used to keep a thread alive. How soon the next run follows depends on the
    /// machine, so only most of them must follow in time.
    @Test func `running for one source at a time is not a rest`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let seen = Log<UInt64>()
            for _ in 0..<200 {
                loop.perform { seen.add(loop.beacon.wokeNanoseconds) }
                #expect(loop.run(in: .default, for: .seconds(10), returnAfterSourceHandled: true) == .handledSource)
            }
            #expect(seen.count == 200)
            #expect(Set(seen.all).count < 100, "\(Set(seen.all).count)")
        }
    }

    /// Every turn has work from the previous one, so the loop never polls.
    @Test func `turns without a sleep are not rests`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let seen = Log<UInt64>()
            let port = RunLoopPort { port, message in
                seen.add(loop.beacon.wokeNanoseconds)
                if message.id < 20 { port.send(id: message.id + 1) } else { loop.stop() }
            }
            loop.add(port, to: .default)
            port.send(id: 1)
            #expect(loop.runBriefly() == .stopped)
            #expect(seen.count == 20)
            #expect(Set(seen.all).count == 1)
        }
    }

    /// The loop publishes that it is about to wait, finds a wake, and does not wait.
    @Test func `a wait that finds a wake is not a rest`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let woke = Log<UInt64>()
            loop.add(RunLoopPort(), to: .default)
            let observer = RunLoopObserver(activities: [.beforeWaiting, .afterWaiting]) { _, activity in
                woke.add(loop.beacon.wokeNanoseconds)
                loop.wakeUp()
                if woke.count >= 40 { loop.stop() }
            }
            loop.add(observer, to: .default)
            #expect(loop.runBriefly() == .stopped)
            #expect(woke.count >= 40)
            #expect(Set(woke.all).count == 1)
        }
    }

    /// A descriptor that is always ready: the kernel returns from every wait at once.
    @Test func `a descriptor that is always ready leaves no rest`() throws {
        let pipe = try TestPipe()
        pipe.write()
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let seen = Log<UInt64>()
            let source = RunLoopDescriptorSource(descriptor: pipe.reading) { _, _ in
                seen.add(loop.beacon.wokeNanoseconds)
                if seen.count == 30 { loop.stop() }
            }
            loop.add(source, to: .default)
            #expect(loop.runBriefly() == .stopped)
            #expect(seen.count == 30)
            #expect(Set(seen.all).count == 1 || Set(seen.all.dropFirst()).count == 1, "one rest at most, before the first")
            source.invalidate()
        }
    }

    /// Like a modal loop: one run per event.
    @Test func `nested runs of one event each leave no rest either`() throws {
        let pipe = try TestPipe()
        pipe.write()
        try withThread { thread in
            let loop = thread.loop
            let seen = Log<UInt64>()
            let mode = RunLoopMode("rests.modal")
            let source = RunLoopDescriptorSource(descriptor: pipe.reading) { _, _ in seen.add(loop.beacon.wokeNanoseconds) }
            loop.add(source, to: mode)
            try thread.performAndWait {
                for _ in 0..<20 { #expect(loop.run(mode: mode, before: .now + .seconds(20))) }
            }
            #expect(seen.count == 20)
            #expect(Set(seen.all.dropFirst()).count == 1, "one rest at most, before the first")
            source.invalidate()
        }
    }

    /// The same descriptor, quiet between the bytes: each wait is a rest, and none is missed by polling first.
    @Test func `a descriptor that is quiet between events leaves one rest per event`() throws {
        let pipe = try TestPipe()
        try withThread { thread in
            let loop = thread.loop
            let seen = Log<UInt64>()
            let source = RunLoopDescriptorSource(descriptor: pipe.reading) { source, _ in
                var byte: UInt8 = 0
                _ = read(source.descriptor, &byte, 1)
                seen.add(loop.beacon.wokeNanoseconds)
            }
            loop.add(source, to: .common)
            for count in 1...10 {
                #expect(eventually { loop.isWaiting })
                usleep(2_000)
                pipe.write()
                #expect(eventually { seen.count == count })
            }
            #expect(Set(seen.all).count == 10)
            source.invalidate()
        }
    }

    /// Work in the same turn after a one-shot timer began after it.
    @Test func `a one-shot timer ends its stretch of work`() throws {
        try onFreshThread {
            let loop = ObservedRunLoop.current
            let begins = Log<UInt64>()
            let timer = RunLoopTimer(after: .zero) { _ in
                usleep(5_000)
                begins.add(MonotonicTime.now.nanoseconds)
                loop.perform { begins.add(loop.beacon.calloutNanoseconds) }
            }
            loop.add(timer, to: .default)
            #expect(loop.runBriefly() == .finished)
            #expect(begins.count == 2 && begins.all[1] >= begins.all[0])
        }
    }

    @Test func `the loop itself records a long stretch of work`() throws {
        try withThread { thread in
            let beacon = thread.loop.beacon.raw
            clb_beacon_limit(beacon, 3_000_000)
            let before = clb_beacon_stretch_count(beacon)
            let work = Log<UInt64>()
            for milliseconds: UInt32 in [1, 5, 0, 8] {
                try thread.performAndWait {
                    let begin = MonotonicTime.now.nanoseconds
                    usleep(milliseconds * 1000)
                    let end = MonotonicTime.now.nanoseconds
                    if end - begin >= 3_000_000 { work.add(begin) }
                }
            }
            // The last one is recorded together with what follows it.
            try thread.performAndWait {}
            let count = clb_beacon_stretch_count(beacon) &- before
            #expect(Int(count) >= work.count && work.count >= 2)
            var note = clb_beacon_stretch()
            #expect(clb_beacon_read_stretch(beacon, before &+ count, &note) != 0)
            // On a busy machine, work after it may also be recorded.
            let last = work.all.last!
            var found: [clb_beacon_stretch] = []
            for back in 0..<min(count, 3) {
                guard clb_beacon_read_stretch(beacon, before &+ count &- back, &note) != 0 else { continue }
                #expect(note.until_ns - note.since_ns >= 3_000_000)
                if note.since_ns <= last, note.until_ns >= last + 8_000_000 { found.append(note) }
            }
            #expect(found.count == 1, "the last work is in one of them")
            // The lowest of several requested limits counts, and overwritten records are not returned.
            clb_beacon_limit(beacon, 5_000_000)
            #expect(beacon.pointee.limit_ns == 3_000_000)
            #expect(clb_beacon_read_stretch(beacon, before &+ count &- 3, &note) == 0)
        }
    }
}
