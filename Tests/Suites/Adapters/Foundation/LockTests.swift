import Dispatch
import Foundation
import LagMonitor
import LagMonitorFoundation
import TestSupport
import Testing

extension FoundationTests {
    /// Foundation's locks are pthread locks: their memory shows the owner.
    @Suite struct LockTests {
        /// The single stall of a loop in which `wait` is called while a thread has called `take`.
        private func stall(
            taking take: @escaping @Sendable () -> Void,
            releasing release: @escaping @Sendable () -> Void,
            waiting wait: @escaping @Sendable () -> Void
        ) throws -> Stall {
            let thread = LoopThread(name: "locked")
            defer { thread.stop() }
            let watching = try Watching(thread.loop)
            defer { watching.monitor.stop() }
            let (taken, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let holder = Thread {
                // Not `Thread.name`: before `start()` has returned, it does not reach the kernel.
                try? Data("holder".utf8).write(to: URL(fileURLWithPath: "/proc/thread-self/comm"))
                take()
                taken.signal()
                begun.wait()
                blockForTheTest()
                release()
            }
            holder.start()
            taken.wait()
            thread.perform {
                begun.signal()
                wait()
            }
            return try watching.stall()
        }

        private func expectMutex(_ stall: Stall) {
            #expect(stall.string("cause") == "lock" && stall.string("lock_kind") == "mutex", "\(stall.fields)")
            let owner = stall.fields["lock_owner"] as? [String: Any]
            #expect(owner?["thread_name"] as? String == "holder", "\(stall.fields)")
        }

        @Test func `the owner of a lock is reported`() throws {
            let lock = NSLock()
            expectMutex(try stall(taking: { lock.lock() }, releasing: { lock.unlock() }, waiting: { lock.withLock {} }))
        }

        @Test func `the owner of a recursive lock is reported`() throws {
            let lock = NSRecursiveLock()
            expectMutex(try stall(taking: { lock.lock() }, releasing: { lock.unlock() }, waiting: { lock.withLock {} }))
        }

        @Test func `the owner of the lock of a condition is reported`() throws {
            let condition = NSCondition()
            expectMutex(
                try stall(taking: { condition.lock() }, releasing: { condition.unlock() }, waiting: { condition.withLock {} })
            )
        }

        /// It has no owner, and the thread that will signal it is not recorded anywhere.
        @Test func `waiting for a condition is reported without an owner`() throws {
            let condition = NSCondition()
            let stall = try stall(
                taking: {},
                releasing: {},
                waiting: { condition.withLock { _ = condition.wait(until: Date(timeIntervalSinceNow: 0.4)) } }
            )
            #expect(stall.string("cause") == "lock" && stall.string("lock_kind") == "condition", "\(stall.fields)")
            #expect(stall.fields["lock_owner"] == nil, "\(stall.fields)")
        }
    }
}
