import Glibc
import LagRunLoop
import TestSupport

/// Very many keep-alive threads created and stopped, with constant memory and nothing left behind.
enum ThreadsProbe {
    static func run(count: Int = 100_000) {
        let ran = Counter()
        makeAndStop(count: 100, ran)  // what is created once in a process
        let threads = OwnProcess.threads
        let descriptors = OwnProcess.descriptors
        makeAndStop(count: count / 10, ran)
        let early = OwnProcess.residentKilobytes
        makeAndStop(count: count - count / 10, ran)
        let late = OwnProcess.residentKilobytes
        print("threads made:", count, "resident after a tenth:", early, "kB, at the end:", late, "kB")
        Checks.expect(ran.value == count + 100, "every thread ran its work")
        // One of the first hundred may still have existed when they were counted.
        Checks.expect(eventually { OwnProcess.threads <= threads }, "no thread is left")
        Checks.expect(OwnProcess.descriptors == descriptors, "no descriptor is left")
        // A leak of 50 bytes per thread would be visible; the allocator's own variation is not.
        Checks.expect(late - early < 4_096, "memory stays flat")
    }

    /// Mostly one after the other; sometimes many that live at the same time. Stopped from inside and outside alternately.
    private static func makeAndStop(count: Int, _ ran: Counter) {
        var made = 0
        while made < count {
            let crowd = min(made % 1_024 == 0 ? 64 : 1, count - made)
            let threads = (0..<crowd).compactMap { _ in try? KeepAliveThread(name: "probe") }
            for (index, thread) in threads.enumerated() {
                let value = try? thread.performAndWait { 1 }
                ran.add(value ?? 0)
                if (made + index) % 2 == 0 { thread.stop() } else { thread.perform { KeepAliveThread.stopCurrent() } }
            }
            for thread in threads { thread.join() }
            made += crowd
        }
    }
}
