internal import CLagLinux
internal import Glibc
internal import Synchronization

/// Counts the jobs that one thread begins, while it matters whether it is still at the same one. Only the watchdog's thread.
///
/// It uses a breakpoint of the processor, which the thread does not notice. While it counts, each job costs a µs more, and a
/// switch to another thread half a µs. If the kernel refuses it (`kernel.perf_event_paranoid`, a seccomp filter, as in most
/// containers), jobs are not counted.
struct JobCounter: ~Copyable {
    private var descriptor: Int32 = -1

    /// The kernel does not permit it for this process.
    private static let isRefused = Atomic<Bool>(false)

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// How many jobs it has counted; nil: it does not count.
    var begun: UInt64? { descriptor >= 0 ? cll_breakpoint_count(descriptor) : nil }

    /// Starts counting, if possible and not started yet. Some 20 µs.
    mutating func open(_ tid: Int32, function: UInt64) {
        guard descriptor < 0, function != 0, !Self.isRefused.load(ordering: .relaxed) else { return }
        descriptor = cll_job_counter_open(tid, function)
        // A missing thread, or a lack of descriptors, does not mean that the next one fails.
        if descriptor == -EPERM || descriptor == -EACCES || descriptor == -ENOENT || descriptor == -EOPNOTSUPP {
            Self.isRefused.store(true, ordering: .relaxed)
        }
    }

    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
