internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import Glibc
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// How a tracer waits for a running thread to stop.
@Suite struct TrapTests {
    /// A child that computes.
    private final class Computing {
        let pid: pid_t
        private let process = Process()

        init() throws {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "while :; do :; done"]
            try process.run()
            pid = process.processIdentifier
        }

        deinit {
            kill(pid, SIGKILL)
            process.waitUntilExit()
        }
    }

    private static func capture(
        _ pid: pid_t,
        by tracer: OpaquePointer,
        within seconds: UInt64 = 20,
        _ body: (cll_snapshot) -> Void = { _ in }
    ) -> Int32 {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { stack in
            var snapshot = cll_snapshot()
            snapshot.stack = stack.baseAddress?.assumingMemoryBound(to: UInt8.self)
            snapshot.capacity = UInt64(stack.count)
            let answer = clr_tracer_capture(tracer, pid, pid, 0, 0, &snapshot, clb_now_ns() + seconds * 1_000_000_000)
            // Then it no longer writes into the snapshot.
            if answer == Int32(CLL_SIGNAL_PENDING) { _ = clr_tracer_withdraw(tracer) }
            body(snapshot)
            return answer
        }
    }

    /// The child has only the tracer's processor: it stops when it gets it. Very short sleeps kept the processor for some ms.
    @Test(.enabled(if: canPin, "no taskset, or one processor on this machine"))
    func `a tracer yields its processor to the thread that it waits for`() throws {
        try Self.withPinnedTracer(on: \.first) { child, tracer, thread in
            let captures = 20
            let begin = Self.processorNanoseconds(of: thread)
            for _ in 0..<captures { #expect(Self.capture(child.pid, by: tracer) == Int32(CLL_SIGNAL_TAKEN)) }
            let used = Self.processorNanoseconds(of: thread) - begin
            #expect(used / UInt64(captures) < 1_000_000)
        }
    }

    /// The processors that this thread may use.
    private static var processors: String { processors(of: "/proc/thread-self") }

    private static func processors(of thread: String) -> String {
        let text = (try? String(contentsOfFile: thread + "/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
        return line.map { String($0.split(separator: "\t")[1]) } ?? ""
    }

    /// Pins this thread, and the threads that it starts from then on.
    private static func pin(to processors: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = ["-cp", processors, String(cll_gettid())]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }

    /// This process's tracers that are pinned like this thread: other tests have tracers, too.
    private static var tracers: [String] {
        let folder = "/proc/self/task/"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { folder + $0 }.filter {
            let name = try? String(contentsOfFile: $0 + "/comm", encoding: .utf8)
            return name == "lag-tracer\n" && processors(of: $0) == processors
        }
    }

    /// With a child that computes, a tracer, and the tracer's thread, all on one processor of this thread.
    private static func withPinnedTracer(
        on processor: ([Substring]) -> Substring?,
        _ body: (Computing, OpaquePointer, _ thread: String) throws -> Void
    ) throws {
        let before = Self.processors
        try pin(to: String(#require(processor(before.split(whereSeparator: { ",-".contains($0) })))))
        defer { try? pin(to: before) }
        let child = try Computing()
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        try body(child, tracer, #require(eventually { tracers.count == 1 } ? tracers.first : nil))
    }

    private static let canPin = access("/usr/bin/taskset", X_OK) == 0 && ProcessInfo.processInfo.activeProcessorCount > 1

    private static func processorNanoseconds(of thread: String) -> UInt64 {
        let text = (try? String(contentsOfFile: thread + "/schedstat", encoding: .utf8)) ?? ""
        return text.split(separator: " ").first.flatMap { UInt64($0) } ?? 0
    }

    /// Meanwhile, another thread asks the kernel for the child's stops.
    private static func whileStopsAreConsumed(of pid: pid_t, _ body: () -> Void) {
        let isOver = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while isOver.wait(timeout: .now()) == .timedOut {
                var change = siginfo_t()
                _ = waitid(P_PID, id_t(pid), &change, WSTOPPED | WNOHANG)
            }
            ended.signal()
        }
        body()
        isOver.signal()
        ended.wait()
    }

    /// Otherwise a hang that computes would not be one while it is stopped for its stack again and again.
    @Test func `stops are counted, and are what the kernel counts as sleeps`() throws {
        let child = try Computing()
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        func sleeps() -> UInt64 {
            let text = (try? String(contentsOfFile: "/proc/\(child.pid)/status", encoding: .utf8)) ?? ""
            return text.firstMatch(of: /\nvoluntary_ctxt_switches:\t([0-9]+)/).flatMap { UInt64($0.1) } ?? 0
        }
        // It starts, and sleeps meanwhile.
        #expect(
            eventually {
                let (before, stops) = (sleeps(), clr_stops(child.pid))
                let taken = (0..<20).count { _ in Self.capture(child.pid, by: tracer) == Int32(CLL_SIGNAL_TAKEN) }
                return taken == 20 && clr_stops(child.pid) == stops + 20 && sleeps() == before + 20
            }
        )
    }

    /// The kernel reports a child's stop to the thread that asks first. A stop reported to another thread must be noticed, too.
    @Test func `a stop is noticed even if another thread consumes its report`() throws {
        let child = try Computing()
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        Self.whileStopsAreConsumed(of: child.pid) {
            for _ in 0..<20 { #expect(Self.capture(child.pid, by: tracer) == Int32(CLL_SIGNAL_TAKEN)) }
        }
    }

    /// The tracer's timer ends its waits by a signal, the bell. When a foreign signal of the same number arrives, the tracer's
    /// thread blocks that number. If this happens before the wait, the wait would have no bell.
    @Test(.enabled(if: canPin, "no taskset, or one processor on this machine"))
    func `a tracer that a foreign signal reaches before its wait still notices stops`() throws {
        try Self.withPinnedTracer(on: \.last) { child, tracer, thread in
            let tid = try #require(thread.split(separator: "/").last.flatMap { pid_t($0) })
            // The signal moves from thread to thread until all of them block it.
            let bell = __libc_current_sigrtmax() - 1
            var bells = sigset_t()
            sigemptyset(&bells)
            sigaddset(&bells, bell)
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, &bells, &mask)
            defer {
                var wait = timespec(tv_sec: 0, tv_nsec: 100_000_000)
                while sigtimedwait(&bells, nil, &wait) == bell {}
                pthread_sigmask(SIG_SETMASK, &mask, nil)
            }
            Self.whileStopsAreConsumed(of: child.pid) {
                #expect(cll_tgkill(getpid(), tid, bell) == 0)
                for _ in 0..<20 { #expect(Self.capture(child.pid, by: tracer, within: 5) == Int32(CLL_SIGNAL_TAKEN)) }
            }
        }
    }

    @Test func `the supervisor of a child leaves a stop by the tracer to the tracer`() throws {
        let child = try Computing()
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        // While the child is stopped.
        clr_tracer_set_hook(
            tracer,
            nil,
            { context, pid, _ in
                var (change, value) = (siginfo_t(), Int32(0))
                let taken = clr_wrap_change(pid, -1, &value)
                let isThere = waitid(P_PID, id_t(pid), &change, WSTOPPED | WNOWAIT | WNOHANG) == 0
                let seen = taken == Int32(CLR_CHANGE_NONE) && isThere && change.si_code == CLD_TRAPPED
                context?.storeBytes(of: seen, as: Bool.self)
            },
            nil,
            Self.seen
        )
        #expect(Self.capture(child.pid, by: tracer) == Int32(CLL_SIGNAL_TAKEN))
        #expect(Self.seen.load(as: Bool.self))
    }

    /// On userfaultfd, the stopped thread would wait for the program that provides the page.
    @Test func `a stack copy leaves pages that were never touched alone`() throws {
        let source = FileManager.default.temporaryDirectory.appendingPathComponent("gap-\(UUID().uuidString).c")
        let program = source.deletingPathExtension()
        defer { for file in [source, program] { try? FileManager.default.removeItem(at: file) } }
        try Data(
            """
            #include <stdio.h>
            #include <sys/mman.h>
            #include <ucontext.h>
            static void compute(void) {
                volatile char gap[1 << 17];
                gap[0] = 1;
                printf("%lu\\n", (unsigned long)gap);
                fflush(stdout);
                while (gap[0]) {}
            }
            int main(void) {
                static ucontext_t context;
                getcontext(&context);
                context.uc_stack.ss_size = 1 << 18;
                context.uc_stack.ss_sp = mmap(0, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                makecontext(&context, compute, 0);
                return setcontext(&context);
            }
            """.utf8
        ).write(to: source)
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["gcc", "-O1", "-o", program.path, source.path]
        try compiler.run()
        compiler.waitUntilExit()
        let (child, output) = (Process(), Pipe())
        (child.executableURL, child.standardOutput) = (program, output)
        try child.run()
        let pid = child.processIdentifier
        defer {
            kill(pid, SIGKILL)
            child.waitUntilExit()
        }
        let gap = try #require(LineReader(output).next().flatMap(UInt64.init))
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        var word: UInt64 = 0
        #expect(cll_memory_prepare() == 0 && cll_memory_read_present(pid, gap + 0x8000, &word, 8) == 0)
        let answer = Self.capture(pid, by: tracer) { snapshot in
            #expect(snapshot.stack_length > 0 && snapshot.stack_begin + snapshot.stack_length < gap + 0x8000)
        }
        #expect(answer == Int32(CLL_SIGNAL_TAKEN))
        #expect(cll_memory_read_present(pid, gap + 0x8000, &word, 8) == 0)
    }

    /// A goroutine's stack is in the heap, among other memory.
    @Test func `a stack copy ends at the limit that the language runtime gives`() throws {
        let child = try Computing()
        let tracer = try #require(clr_tracer_create())
        defer { clr_tracer_destroy(tracer) }
        let end: clr_tracer_stack_end = { _, _, snapshot in
            guard let snapshot else { return 0 }
            return withUnsafeBytes(of: snapshot.pointee.registers) {
                $0.load(fromByteOffset: Int(CLL_REGISTER_SP) * 8, as: UInt64.self) + 1000
            }
        }
        clr_tracer_set_hook(tracer, end, nil, nil, nil)
        var copied: UInt64 = 0
        #expect(Self.capture(child.pid, by: tracer) { copied = $0.stack_length } == Int32(CLL_SIGNAL_TAKEN))
        #expect(copied == 1000 + UInt64(CLL_RED_ZONE))
    }

    // Unsafe: the tracer's thread writes it before its answer, and this thread reads it afterwards. Only one test uses it.
    private nonisolated(unsafe) static let seen: UnsafeMutableRawPointer = {
        let place = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)
        place.storeBytes(of: false, as: Bool.self)
        return place
    }()
}
