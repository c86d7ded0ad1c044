import Glibc
import LagRunLoop
import TestSupport

/// The seed's test: very many keep-alive threads made and stopped, with flat memory and nothing left.
enum ThreadsProbe {
    static func run(count: Int = 100_000) {
        let ran = Counter()
        makeAndStop(count: 100, ran)  // what is made once in a process
        let threads = OwnProcess.threads
        let descriptors = OwnProcess.descriptors
        makeAndStop(count: count / 10, ran)
        let early = OwnProcess.residentKilobytes
        makeAndStop(count: count - count / 10, ran)
        let late = OwnProcess.residentKilobytes
        print("threads made:", count, "resident after a tenth:", early, "kB, at the end:", late, "kB")
        Checks.expect(ran.value == count + 100, "every thread ran its work")
        // One of the first hundred may not have been gone when they were counted.
        Checks.expect(eventually { OwnProcess.threads <= threads }, "no thread is left")
        Checks.expect(OwnProcess.descriptors == descriptors, "no descriptor is left")
        // A leak of 50 bytes a thread would show; the allocator's own wandering does not.
        Checks.expect(late - early < 4_096, "memory stays flat")
    }

    /// Mostly one after another; every so often a crowd that lives at the same time. Stopped from inside and outside in turn.
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
