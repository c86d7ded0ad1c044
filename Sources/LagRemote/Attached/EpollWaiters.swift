internal import CLagLinux
internal import CLagRemote
internal import LagModel

/// Which threads of a process wait on which epoll instance, at one moment. Reading it takes some 4 µs for each thread.
struct EpollWaiters: Sendable {
    /// Nil: the process has too many threads.
    private let threads: [Int32: [Int32]]?

    /// In a process with more threads, a thread needs several waits to be a loop.
    private static let mostThreads = 256

    init(process: Int32) {
        let all = ProcFile.numbers(in: "/proc/\(process)/task", limit: Self.mostThreads + 1)
        guard all.count <= Self.mostThreads else {
            threads = nil
            return
        }
        var threads: [Int32: [Int32]] = [:]
        for tid in all {
            var call = cll_thread_syscall()
            guard cll_procfs_syscall(process, tid, &call) == Int32(CLL_SYSCALL_BLOCKED) else { continue }
            let epoll = clr_epoll_of_wait(&call)
            if epoll >= 0 { threads[epoll, default: []].append(tid) }
        }
        self.threads = threads
    }

    /// Whether no other thread waits on the instance; false also if that is not known.
    func isAlone(_ tid: Int32, at epoll: Int32) -> Bool {
        threads.map { $0[epoll, default: []].allSatisfy { $0 == tid } } ?? false
    }
}
