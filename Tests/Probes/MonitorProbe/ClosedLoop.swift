internal import CLagBeacon
import Glibc
import LagMonitor
import Synchronization
import TestSupport

/// A loop whose descriptors the host closes, together with all others, on the loop's thread: it serves descriptors again, wakes,
/// and exits.
enum ClosedLoop {
    static func check() throws {
        let thread = try KeepAliveThread(name: "closed")
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { Probe.fail("pipe: \(errno)") }
        // The lowest numbers, which the loop's own descriptors may get next.
        let lost = RunLoopDescriptorSource(descriptor: ends[0]) { _, _ in }
        let written = RunLoopDescriptorSource(descriptor: ends[1], events: .readable) { _, _ in }
        thread.loop.add(lost, to: .default)
        thread.loop.add(written, to: .default)
        try thread.performAndWait {}
        try thread.performAndWait { closefrom(3) }
        for round in 0..<3 {
            guard try thread.performAndWait({ round }) == round else { Probe.fail("no answer") }
        }
        for source in [lost, written] { source.invalidate() }
        var fresh: [Int32] = [0, 0]
        guard pipe(&fresh) == 0 else { Probe.fail("pipe: \(errno)") }
        let calls = Atomic<Int>(0)
        let source = RunLoopDescriptorSource(descriptor: fresh[0]) { source, _ in
            var byte: UInt8 = 0
            _ = read(source.descriptor, &byte, 1)
            calls.add(1, ordering: .relaxed)
        }
        thread.loop.add(source, to: .default)
        var byte: UInt8 = 1
        for count in 1...3 {
            _ = write(fresh[1], &byte, 1)
            if !eventually({ calls.load(ordering: .relaxed) == count }) {
                Probe.fail("\(calls.load(ordering: .relaxed)) calls of \(count)")
            }
            guard try thread.performAndWait({ count }) == count else { Probe.fail("no answer") }
        }
        // It sleeps: it must not poll busily because of what it has lost.
        let before = try thread.performAndWait { threadNanoseconds() }
        usleep(200_000)
        let spent = try thread.performAndWait { threadNanoseconds() } - before
        if spent > 100_000_000 { Probe.fail("the loop computed for \(spent) ns of 200 ms") }
        thread.stop()
        if !thread.join() { Probe.fail("it did not end") }
    }

    private static func threadNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
