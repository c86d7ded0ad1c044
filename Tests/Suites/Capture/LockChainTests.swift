import CLagLinux
import Foundation
import Glibc
import LagCapture
import Synchronization
import Testing

struct LockChainTests {
    /// Mutexes of glibc, which store their owners in memory.
    private final class Convoy: Sendable {
        private static let workers = 200
        private static let heldNanoseconds: UInt64 = 400_000
        // Unchecked: a mutex may be used by several threads, and its address never changes.
        nonisolated(unsafe) private let jobs = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        nonisolated(unsafe) private let state = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let waiting = Atomic<Int32>(0)
        private let ended = Atomic<Int>(0)

        init() {
            pthread_mutex_init(jobs, nil)
            pthread_mutex_init(state, nil)
        }

        deinit {
            jobs.deallocate()
            state.deallocate()
        }

        private func start(_ body: @escaping @Sendable () -> Void) {
            let thread = Thread {
                body()
                self.ended.add(1, ordering: .releasing)
            }
            thread.stackSize = 256 * 1024
            thread.start()
        }

        /// One thread holds `state` and waits for `jobs`. Each worker releases `jobs` before it waits for `state`: no deadlock.
        /// - Returns: how often the chain was followed, and how often it was reported as a cycle.
        func run() -> (followed: Int, cycles: Int) {
            pthread_mutex_lock(jobs)
            for _ in 0..<Self.workers {
                start { [self] in
                    pthread_mutex_lock(jobs)
                    let until = DispatchTime.now().uptimeNanoseconds + Self.heldNanoseconds
                    while DispatchTime.now().uptimeNanoseconds < until {}
                    pthread_mutex_unlock(jobs)
                    pthread_mutex_lock(state)
                    pthread_mutex_unlock(state)
                }
            }
            start { [self] in
                pthread_mutex_lock(state)
                usleep(20_000)
                waiting.store(cll_gettid(), ordering: .releasing)
                pthread_mutex_lock(jobs)
                pthread_mutex_unlock(jobs)
                pthread_mutex_unlock(state)
                waiting.store(-1, ordering: .releasing)
            }
            while waiting.load(ordering: .acquiring) == 0 { usleep(1000) }
            usleep(50_000)
            let chain = LockChain()
            var (followed, cycles) = (0, 0)
            pthread_mutex_unlock(jobs)
            while case let tid = waiting.load(ordering: .acquiring), tid > 0 {
                var call = cll_thread_syscall()
                guard cll_procfs_syscall(getpid(), tid, &call) == Int32(CLL_SYSCALL_BLOCKED) else { continue }
                chain.follow(tid, in: call)
                followed += 1
                if chain.cycle != nil { cycles += 1 }
            }
            while ended.load(ordering: .acquiring) < Self.workers + 1 { usleep(1000) }
            return (followed, cycles)
        }
    }

    @Test func `a lock released before its owner waits is not reported as a deadlock`() {
        let result = Convoy().run()
        #expect(result.followed > 50)
        #expect(result.cycles == 0, "\(result)")
    }
}
