import Dispatch
import Glibc
import LagMonitor
import TestSupport
import Testing

extension MonitorTests {
    /// Real stalls of known cause, and what the record reports about them.
    @Suite struct EvidenceTests {
        /// The one line of a stall. All its measured values are consistent.
        /// - Parameter body: lasts until the search has several samples.
        private func line(_ body: @escaping @Sendable (StallSearch) -> Void) throws -> Line {
            let watched = try Watched()
            defer { watched.end() }
            let search = StallSearch(watched.monitor)
            let injected = Injected(on: watched.thread) { body(search) }
            #expect(eventually { injected.isOver && watched.sink.records.count == 1 })
            let line = try #require(watched.sink.records.first)
            let duration = line.number("duration_ms")
            let sum = line.number("cpu_ms") + line.number("run_delay_ms") + line.number("blocked_ms")
            #expect(abs(sum - duration) <= duration * 0.05, "\(sum) of \(duration) ms")
            #expect(line.integer("samples") > 1, "\(line.integer("samples"))")
            #expect((1...line.integer("samples")).contains(line.integer("samples_matched")))
            return line
        }

        @Test func `waiting for a mutex is reported with the owner and the stack of the owner`() throws {
            let mutex = RawMutex()
            let holder = Holder(of: mutex)
            let line = try line { search in
                holder.begin(search.hold)
                lockForTheTest(mutex)
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "mutex", "\(line.text)")
            #expect(line.string("syscall") == "futex")
            #expect(line.string("lock_address") == "0x" + String(UInt(bitPattern: mutex.raw), radix: 16))
            let owner = line.object("lock_owner")
            #expect(owner["thread_id"] as? Int == Int(holder.tid) && owner["thread_name"] as? String == "holder", "\(owner)")
            let frames = try #require(owner["frames"] as? [[String: Any]])
            #expect(frames.contains { ($0["symbol"] as? String ?? "").contains("holdForTheTest") }, "\(frames)")
            #expect(line.string("culprit").contains("lockForTheTest"), "\(line.string("culprit"))")
            #expect(line.string("message").contains("held by thread \(holder.tid) 'holder'"), "\(line.string("message"))")
            #expect(line.number("blocked_ms") > line.number("duration_ms") / 2)
            #expect(line.objects("lock_cycle").isEmpty)
        }

        @Test(arguments: [PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK])
        func `the owner of a mutex is reported for each kind of mutex`(kind: Int) throws {
            let mutex = RawMutex(kind: Int32(kind))
            let holder = Holder(of: mutex)
            let line = try line { search in
                holder.begin(search.hold)
                lockForTheTest(mutex)
            }
            #expect(line.string("lock_kind") == "mutex", "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid))
        }

        /// The kernel reports the owner's exit: its lock word differs from that of the other kinds.
        @Test func `the owner of a robust mutex is reported`() throws {
            let mutex = RawMutex(isRobust: true)
            let holder = Holder(of: mutex)
            let line = try line { search in
                holder.begin(search.hold)
                lockForTheTest(mutex)
            }
            #expect(line.string("lock_kind") == "mutex", "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid))
        }

        /// The lock stores the number of readers, not their threads.
        @Test func `a read-write lock is reported with the number of readers that hold it`() throws {
            let lock = RawReadWriteLock()
            let holders = (0..<2).map { _ in
                Holder(locking: { lock.read() }, unlocking: { lock.unlock() })
            }
            let line = try line { search in
                for holder in holders { holder.begin(search.hold) }
                writeLockForTheTest(lock)
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "read_write", "\(line.text)")
            #expect(line.integer("lock_readers") == 2 && line.object("lock_owner").isEmpty, "\(line.text)")
            #expect(line.string("lock_address") == "0x" + String(UInt(bitPattern: lock.raw), radix: 16))
            #expect(line.string("message").contains("held by 2 unknown readers"), "\(line.string("message"))")
        }

        /// What `print` waits for while another thread has locked stdout.
        @Test func `waiting for a stream that another thread has locked is reported with the owner`() throws {
            let stream = RawStream()
            let holder = Holder(locking: { stream.lock() }, unlocking: { stream.unlock() })
            let line = try line { search in
                holder.begin(search.hold)
                writeForTheTest(stream)
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "mutex", "\(line.text)")
            let owner = line.object("lock_owner")
            #expect(owner["thread_id"] as? Int == Int(holder.tid) && owner["thread_name"] as? String == "holder", "\(owner)")
            #expect(line.string("culprit").contains("RawStream.write"), "\(line.string("culprit"))")
        }

        @Test func `a deadlock of two threads is reported with its cycle`() throws {
            let (first, second) = (RawMutex(), RawMutex())
            let holder = Holder(of: second, thenOf: first)
            let line = try line { search in
                first.lock()
                // It waits for the first before this thread waits for the second: only the deadlock is left to observe.
                holder.begin()
                _ = eventually { first.isWanted }
                first.unlock(after: search.hold)
                lockForTheTest(second)
            }
            #expect(line.string("cause") == "deadlock", "\(line.text)")
            let cycle = line.objects("lock_cycle")
            #expect(
                cycle.compactMap { $0["thread_id"] as? Int } == [line.integer("thread_id"), Int(holder.tid)],
                "\(line.text)"
            )
            let address: (RawMutex) -> String = { "0x" + String(UInt(bitPattern: $0.raw), radix: 16) }
            #expect(cycle.compactMap { $0["waits_for"] as? String } == [address(second), address(first)])
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid))
            #expect(line.string("message").contains("deadlock of 2 threads"), "\(line.string("message"))")
        }

        @Test func `a cycle with a timed wait is not a deadlock`() throws {
            let (first, second) = (RawMutex(), RawMutex())
            let holder = Holder(of: second, thenOf: first)
            let line = try line { search in
                first.lock()
                holder.begin()
                _ = eventually { first.isWanted }
                repeat {
                    if timedLockForTheTest(second, milliseconds: 600) { second.unlock() }
                } while !search.isSampled
                first.unlock()
            }
            #expect(line.string("cause") == "lock" && line.objects("lock_cycle").isEmpty, "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid), "\(line.text)")
        }

        @Test func `a thread that waits for its own lock is reported as a deadlock with itself`() throws {
            let mutex = RawMutex()
            let line = try line { search in
                mutex.lock()
                mutex.unlock(after: search.hold)
                lockForTheTest(mutex)
            }
            #expect(line.string("cause") == "deadlock", "\(line.text)")
            #expect(line.objects("lock_cycle").compactMap { $0["thread_id"] as? Int } == [line.integer("thread_id")])
            #expect(line.string("message").contains("in a deadlock with itself"), "\(line.string("message"))")
        }

        /// The loop is not part of the deadlock, but waits for a thread that is.
        @Test func `waiting for a lock of deadlocked threads is reported as a deadlock`() throws {
            let (first, second) = (RawMutex(), RawMutex())
            // Never released: the two threads are left behind.
            let (one, two) = (Holder(of: first, thenOf: second), Holder(of: second, thenOf: first))
            // By now each holds its own lock.
            one.begin()
            two.begin()
            #expect(eventually { first.isWanted && second.isWanted })
            let line = try line { search in
                repeat { _ = timedLockForTheTest(first, milliseconds: 500) } while !search.isSampled
            }
            #expect(line.string("cause") == "deadlock", "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(one.tid))
            #expect(Set(line.objects("lock_cycle").compactMap { $0["thread_id"] as? Int }) == [Int(one.tid), Int(two.tid)])
        }

        @Test func `a computing callback has the cause cpu`() throws {
            let line = try line { search in
                repeat { computeForTheTest(milliseconds: 200) } while !search.isSampled
            }
            #expect(line.number("cpu_ms") >= 380, "\(line.text)")
            // It may have waited for a processor even longer.
            let cause = line.number("cpu_ms") >= line.number("run_delay_ms") ? "cpu" : "runqueue"
            #expect(line.string("cause") == cause && line.string("lock_kind").isEmpty, "\(line.text)")
            #expect(line.string("culprit").contains("computeForTheTest"))
        }

        @Test func `a sleeping callback has the cause syscall`() throws {
            let line = try line { search in
                repeat { blockForTheTest(milliseconds: 200) } while !search.isSampled
            }
            #expect(line.string("cause") == "syscall", "\(line.text)")
            #expect(["clock_nanosleep", "nanosleep"].contains(line.string("syscall")))
            #expect(line.number("blocked_ms") > line.number("duration_ms") * 0.8)
            #expect(line.integer("samples") == line.integer("samples_matched"))
        }

        @Test func `reading from a pipe has the cause syscall`() throws {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            let (end, begin) = (ends[0], ends[1])
            var name = [CChar](repeating: 0, count: 64)
            readlink("/proc/self/fd/\(end)", &name, 63)
            let target = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let line = try line { search in
                DispatchQueue.global().async {
                    search.hold()
                    _ = write(begin, "x", 1)
                }
                var byte: UInt8 = 0
                _ = read(end, &byte, 1)
            }
            close(end)
            close(begin)
            #expect(line.string("cause") == "syscall" && line.string("syscall") == "read", "\(line.text)")
            #expect(line.integer("syscall_fd") == Int(end) && line.string("syscall_target") == target, "\(line.text)")
            #expect(line.string("message").contains("read of \(target)"), "\(line.string("message"))")
        }

        /// The one lasts several times as long as the other, whatever that took.
        @Test(arguments: ["lock", "cpu"]) func `the longer of a lock wait and a computation is the cause`(cause: String) throws {
            let mutex = RawMutex()
            let holder = Holder(of: mutex)
            let line = try line { search in
                let begin = MonotonicTime.now.nanoseconds
                holder.begin { cause == "lock" ? search.hold() : blockForTheTest(milliseconds: 130) }
                lockForTheTest(mutex)
                let waited = MonotonicTime.now.nanoseconds - begin
                if cause == "lock" {
                    computeForTheTest(milliseconds: 40)
                } else {
                    let computing = Int(waited / 1_000_000) * 4
                    repeat { computeForTheTest(milliseconds: computing) } while !search.isSampled
                }
            }
            #expect(line.number("cpu_ms") >= (cause == "lock" ? 36 : 460), "\(line.text)")
            // The owner is reported in either case, if it was seen: the wait may have ended before the first sample.
            if line.number("run_delay_ms") < 50 { #expect(line.string("cause") == cause, "\(line.text)") }
            if cause == "lock" {
                #expect(line.object("lock_owner")["thread_name"] as? String == "holder", "\(line.text)")
            }
        }

        @Test func `sync onto a busy queue is reported with the thread that runs the queue`() throws {
            let queue = DispatchQueue(label: "busy")
            let (running, over) = (Atomically(), DispatchSemaphore(value: 0))
            queue.async {
                running.set(gettid())
                over.wait()
            }
            #expect(eventually { running.value != 0 })
            let line = try line { search in
                DispatchQueue.global().async {
                    search.hold()
                    over.signal()
                }
                queue.sync {}
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "queue", "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(running.value), "\(line.text)")
        }

        @Test func `waiting for a semaphore is reported without an owner`() throws {
            let line = try line { search in
                let semaphore = DispatchSemaphore(value: 0)
                repeat { _ = semaphore.wait(timeout: .now() + .milliseconds(200)) } while !search.isSampled
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "semaphore", "\(line.text)")
            #expect(line.object("lock_owner").isEmpty)
            #expect(line.string("message").contains(/, waiting in .+ for a semaphore/), "\(line.string("message"))")
        }

        @Test func `joining a thread is reported with that thread as owner`() throws {
            let mutex = RawMutex()
            let holder = Holder(of: mutex)
            let line = try line { search in
                holder.begin(search.hold)
                holder.join()
            }
            #expect(line.string("cause") == "lock" && line.string("lock_kind") == "thread", "\(line.text)")
            #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid))
        }

        @Test func `a hang is reported with its evidence`() throws {
            var configuration = MonitorTests.configuration
            configuration.hangAfter = .milliseconds(250)
            let watched = try Watched(configuration)
            defer { watched.end() }
            let mutex = RawMutex()
            let holder = Holder(of: mutex)
            let injected = Injected(on: watched.thread) { lockForTheTest(mutex) }
            // Held until the hang is reported, however late that is.
            #expect(eventually { watched.sink.records.count == 1 })
            holder.begin { usleep(200_000) }
            #expect(eventually { injected.isOver && watched.sink.records.count == 2 })
            for line in watched.sink.records {
                #expect(line.string("cause") == "lock", "\(line.text)")
                #expect(line.object("lock_owner")["thread_id"] as? Int == Int(holder.tid), "\(line.text)")
                let sum = line.number("cpu_ms") + line.number("run_delay_ms") + line.number("blocked_ms")
                #expect(abs(sum - line.number("duration_ms")) <= line.number("duration_ms") * 0.05, "\(line.text)")
            }
            let (begin, end) = (watched.sink.records[0], watched.sink.records[1])
            #expect(begin.phase == "begin" && begin.number("blocked_ms") < end.number("blocked_ms"))
            #expect(begin.integer("samples") <= end.integer("samples"))
        }
    }
}
