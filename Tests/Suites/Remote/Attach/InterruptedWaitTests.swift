internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import TestSupport
internal import Testing

@testable internal import LagRemote

#if arch(x86_64)
    /// A stop meant for a running thread can meet it in `epoll_wait`: the program does not notice it.
    @Suite struct InterruptedWaitTests {
        /// A program that sleeps in `epoll_wait` until it is sent another line.
        private static func withWaiter(_ body: (pid_t) throws -> Void) throws -> Int {
            let probe = try ObjectProbe("input")
            _ = try probe.sleepingObject(in: "e")
            try body(probe.pid)
            // Either it still sleeps there, or its wait returned EINTR.
            probe.begin("x")
            return try probe.answer()
        }

        /// Any stop ends a semaphore wait with EINTR (signal(7)).
        @Test func `a capture during a semaphore wait does not interrupt the wait`() throws {
            let probe = try ObjectProbe("level")
            let (semop, semtimedop): (Int64, Int64) = (65, 220)
            probe.begin("m")
            #expect(
                eventually {
                    var call = cll_thread_syscall()
                    let state = cll_procfs_syscall(probe.pid, probe.pid, &call)
                    return state == Int32(CLL_SYSCALL_BLOCKED) && [semop, semtimedop].contains(call.number)
                }
            )
            try Self.capture(probe.pid)
            #expect(try probe.answer() == 0)
        }

        @Test func `a capture during a wait for events does not interrupt the wait`() throws {
            let events = try Self.withWaiter(Self.capture)
            #expect(events == 1)
        }

        private static func capture(_ pid: pid_t) throws {
            let tracer = try #require(clr_tracer_create())
            defer { clr_tracer_destroy(tracer) }
            let stack = UnsafeMutablePointer<UInt8>.allocate(capacity: 1 << 16)
            defer { stack.deallocate() }
            var snapshot = cll_snapshot()
            snapshot.stack = stack
            snapshot.capacity = 1 << 16
            let deadline = clb_now_ns() + 10_000_000_000
            let answer = clr_tracer_capture(tracer, pid, pid, 0, 0, &snapshot, deadline)
            #expect(Int(answer) == Int(CLL_SIGNAL_TAKEN) && snapshot.stack_length > 0)
        }

        /// The ID of an exited thread may belong to another process by the time the thread is to be stopped.
        @Test func `a thread that belongs to another process is not stopped`() throws {
            let tracer = try #require(clr_tracer_create())
            defer { clr_tracer_destroy(tracer) }
            var byte: UInt8 = 0
            let other = getpid()
            let events = try Self.withWaiter { pid in
                var before = cll_thread_status()
                try #require(cll_procfs_status(pid, pid, &before) == 0)
                withUnsafeMutablePointer(to: &byte) { stack in
                    var snapshot = cll_snapshot()
                    snapshot.stack = stack
                    snapshot.capacity = 1
                    let answer = clr_tracer_capture(tracer, other, pid, 0, 0, &snapshot, clb_now_ns() + 10_000_000_000)
                    #expect(Int(answer) != Int(CLL_SIGNAL_TAKEN))
                }
                // The tracing thread releases it when it exits, which happens after the answer.
                let isFree = eventually {
                    (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8))?.contains("TracerPid:\t0") == true
                }
                try #require(isFree)
                let check = try #require(clr_iteration_check_begin(other, pid, -1, 0))
                usleep(100_000)
                var seen: UInt64 = 0
                #expect(Int(clr_iteration_check_end(check, &seen)) == Int(CLR_ITERATION_UNSEEN))
                var after = cll_thread_status()
                try #require(cll_procfs_status(pid, pid, &after) == 0)
                // A stop would have made it run.
                #expect(after.voluntary_switches == before.voluntary_switches)
            }
            #expect(events == 1)
        }

        @Test func `an iteration check during a wait for events sees the wait and does not interrupt it`() throws {
            let events = try Self.withWaiter { pid in
                var call = cll_thread_syscall()
                try #require(cll_procfs_syscall(pid, pid, &call) == Int32(CLL_SYSCALL_BLOCKED))
                let stops = clr_stops(pid)
                let check = try #require(clr_iteration_check_begin(pid, pid, call.number, call.sp))
                usleep(200_000)
                var seen: UInt64 = 0
                #expect(Int(clr_iteration_check_end(check, &seen)) == Int(CLR_ITERATION_SEEN))
                #expect(clr_stops(pid) > stops)
            }
            #expect(events == 1)
        }
    }
#endif
