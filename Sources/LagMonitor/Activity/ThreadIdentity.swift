internal import CLagLinux
internal import Glibc

/// A thread's identity for the kernel and the capture; of this process by default.
public struct ThreadIdentity: Sendable, Equatable {
    /// The kernel's thread id.
    public let tid: Int32
    /// The process to which the thread belongs.
    package let process: Int32
    /// Lowest address of the stack; the guard is below it. 0 when unknown.
    public let stackLow: UInt64
    /// One past the highest address of the stack. 0 when unknown.
    public let stackHigh: UInt64

    /// A thread of this process.
    public init(tid: Int32, stackLow: UInt64, stackHigh: UInt64) {
        self.init(tid: tid, process: getpid(), stackLow: stackLow, stackHigh: stackHigh)
    }

    package init(tid: Int32, process: Int32, stackLow: UInt64, stackHigh: UInt64) {
        self.process = process
        self.tid = tid
        self.stackLow = stackLow
        self.stackHigh = stackHigh
    }

    /// The calling thread. Allocates (glibc reads the main thread's bounds from `/proc`): once per thread, not on a hot path.
    public static var current: ThreadIdentity { make(tid: cll_gettid(), thread: pthread_self()) }

    /// The process's main thread, from any thread.
    public static var main: ThreadIdentity { make(tid: getpid(), thread: cll_main_pthread()) }

    private static func make(tid: Int32, thread: pthread_t) -> ThreadIdentity {
        var low: UInt64 = 0
        var high: UInt64 = 0
        guard thread != 0, cll_thread_stack(thread, &low, &high) == 0 else {
            return ThreadIdentity(tid: tid, stackLow: 0, stackHigh: 0)
        }
        return ThreadIdentity(tid: tid, stackLow: low, stackHigh: high)
    }
}
