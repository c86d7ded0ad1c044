internal import CLagLinux
internal import Glibc
internal import Synchronization

/// Counts the jobs that one thread begins, while it matters whether it is still at the same one. The watchdog's thread alone.
///
/// By a breakpoint of the processor, which the thread does not notice; a job costs it a µs more while it is counted, and a switch to another thread half a one.
/// Where the kernel gives none (`kernel.perf_event_paranoid`, a seccomp filter, as containers mostly have), jobs are not counted.
struct JobCounter: ~Copyable {
    private var descriptor: Int32 = -1

    /// The kernel does not permit it to this process.
    private static let isRefused = Atomic<Bool>(false)

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// How many jobs it has counted; nil: it does not count.
    var begun: UInt64? { descriptor >= 0 ? cll_breakpoint_count(descriptor) : nil }

    /// Begins to count, if it does not and it is possible. Some 20 µs.
    mutating func open(_ tid: Int32, function: UInt64) {
        guard descriptor < 0, function != 0, !Self.isRefused.load(ordering: .relaxed) else { return }
        descriptor = cll_job_counter_open(tid, function)
        // No such thread, or no descriptor left, says nothing of the next one.
        if descriptor == -EPERM || descriptor == -EACCES || descriptor == -ENOENT || descriptor == -EOPNOTSUPP {
            Self.isRefused.store(true, ordering: .relaxed)
        }
    }

    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
