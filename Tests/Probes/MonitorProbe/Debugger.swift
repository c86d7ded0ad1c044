import Glibc
import LagMonitor
import StallFixtures
import Synchronization
import TestSupport

/// A thread that a debugger stops has no stall, although the rest of the process runs.
enum Debugger {
    static func check() throws {
        let (reported, monitor, thread) = try Probe.watchedThread()
        // The debugger is another process of this program: it may trace its parent.
        fixture_trace_allow()
        // Short callouts for as long as needed: when the debugger attaches depends on the machine.
        let isOver = Flag()
        let work = Work(thread, until: isOver)
        work.goOn()
        usleep(20_000)
        try hold(thread.loop.thread.tid, milliseconds: 700)
        isOver.raise()
        if !eventually({ thread.loop.isWaiting }) { Probe.fail("the loop does not come to rest") }
        let statistics = monitor.statistics
        if !reported.records.isEmpty || statistics.stalls > 0 { Probe.fail("\(reported.records) \(statistics)") }
        if statistics.dismissed == 0 { Probe.fail("nothing was dismissed: \(statistics)") }
        // Without the debugger it is a stall.
        thread.perform { usleep(400_000) }
        if !eventually({ reported.records.count == 1 }) { Probe.fail("no record afterwards") }
        monitor.stop()
    }

    private final class Flag: Sendable {
        private let raised = Atomic<Bool>(false)

        var isRaised: Bool { raised.load(ordering: .acquiring) }
        func raise() { raised.store(true, ordering: .releasing) }
    }

    /// One short callout after the other.
    private final class Work: Sendable {
        private let thread: KeepAliveThread
        private let isOver: Flag

        init(_ thread: KeepAliveThread, until isOver: Flag) {
            self.thread = thread
            self.isOver = isOver
        }

        func goOn() {
            thread.perform {
                usleep(2000)
                if !self.isOver.isRaised { self.goOn() }
            }
        }
    }

    /// A child of this program stops a thread of this process.
    private static func hold(_ tid: Int32, milliseconds: Int) throws {
        var child = pid_t()
        let words = ["MonitorProbe", "hold", "\(tid)", "\(milliseconds)"]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        guard posix_spawn(&child, "/proc/self/exe", nil, nil, arguments + [nil], environ) == 0 else { Probe.fail("posix_spawn") }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        if status != 0 { Probe.fail("the debugger failed: \(status)") }
    }

    /// The debugger's side.
    static func hold(arguments: [String]) {
        guard arguments.count == 2, let tid = Int32(arguments[0]), let milliseconds = UInt32(arguments[1]) else {
            Probe.fail("hold needs a thread and a time")
        }
        if fixture_trace_attach(tid) != 0 || fixture_trace_stop(tid) != 0 { Probe.fail("cannot trace \(tid): \(errno)") }
        usleep(milliseconds * 1000)
        if fixture_trace_detach(tid) != 0 { Probe.fail("cannot let go of \(tid): \(errno)") }
    }
}
