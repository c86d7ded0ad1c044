import Glibc
import LagRunLoop
import TestSupport

/// Which descriptors a loop needs, and that they are closed with it.
enum DescriptorsProbe {
    static func run() {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { return Checks.expect(false, "a pipe") }
        let (reading, writing) = (pipes[0], pipes[1])
        warmUp()
        let before = OwnProcess.descriptors
        guard let thread = try? KeepAliveThread(name: "descriptors") else { return Checks.expect(false, "a thread") }
        let timer = RunLoopTimer(after: .milliseconds(1), interval: .milliseconds(1)) { _ in }
        thread.loop.add(timer, to: .default)
        _ = try? thread.performAndWait {}
        Checks.expect(OwnProcess.descriptors == before, "a loop without descriptor sources has no descriptor, with timers too")

        let bytes = Counter()
        let source = RunLoopDescriptorSource(descriptor: reading) { source, _ in
            var byte: UInt8 = 0
            bytes.add(read(source.descriptor, &byte, 1))
        }
        thread.loop.add(source, to: .default)
        var byte: UInt8 = 1
        _ = write(writing, &byte, 1)
        Checks.expect(eventually { bytes.value == 1 }, "a descriptor source is served")
        Checks.expect(OwnProcess.descriptors == before + 2, "watching descriptors costs two: epoll and eventfd")

        // Wakes in progress while the loop ends must not write to a closed descriptor.
        let wakers = (0..<2).compactMap { _ in try? KeepAliveThread(name: "waker") }
        let loop = thread.loop
        for waker in wakers { waker.perform { for _ in 0..<20_000 { loop.wakeUp() } } }
        usleep(1_000)
        thread.stop()
        thread.join()
        for waker in wakers {
            _ = try? waker.performAndWait {}
            waker.stop()
            waker.join()
        }
        Checks.expect(OwnProcess.descriptors == before, "they are closed with the loop")
    }

    /// What is created once in a process.
    private static func warmUp() {
        guard let thread = try? KeepAliveThread(name: "warm-up") else { return }
        _ = try? thread.performAndWait {}
        thread.stop()
        thread.join()
    }
}
