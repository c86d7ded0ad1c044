internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import Synchronization
internal import Testing

@testable internal import LagRemote

/// Of which loops the clients of a listening socket are. This process's own sockets, each as a thread waits on it.
struct SharedListenerTests {
    private final class ThreadNumber: Sendable {
        let value = Atomic<Int32>(0)
    }

    /// What a thread waits on in `poll` for a moment, and who has seen it there.
    private static func wait(for descriptors: [Int32]) throws -> (object: WaitObject, loop: LoopExaminer) {
        let tid = ThreadNumber()
        let thread = Thread {
            tid.value.store(cll_gettid(), ordering: .releasing)
            var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&entries, nfds_t(entries.count), 500)
        }
        thread.start()
        var found: (WaitObject, LoopExaminer)?
        while !thread.isFinished {
            var call = cll_thread_syscall()
            let waiting = tid.value.load(ordering: .acquiring)
            if found == nil, waiting != 0, cll_procfs_syscall(getpid(), waiting, &call) == Int32(CLL_SYSCALL_BLOCKED),
                let object = WaitObject(process: getpid(), of: call)
            {
                let loop = LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: false)
                loop.recordRest(call, at: 1)
                found = (object, loop)
            }
            usleep(1000)
        }
        return try #require(found)
    }

    private static func listen() -> Int32 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = Glibc.listen(listener, 4)
        return listener
    }

    private static func connect(to listener: Int32) -> Int32 {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                getsockname(listener, name, &length)
                _ = Glibc.connect(client, name, length)
            }
        }
        return client
    }

    @Test func `clients that others accept wait for none of the loops`() throws {
        let process = ProcessHandle(getpid())
        let (listener, other) = (Self.listen(), Self.listen())
        var pipe: [Int32] = [0, 0]
        _ = Glibc.pipe(&pipe)
        defer { for descriptor in [listener, other] + pipe { close(descriptor) } }
        let (object, loop) = try Self.wait(for: [listener, pipe[0]])
        let sibling = LoopExaminer.Other.loop(try Self.wait(for: [pipe[0], listener]).loop)
        let stranger = LoopExaminer.Other.loop(try Self.wait(for: [other, pipe[0]]).loop)
        let unseen = LoopExaminer.Other.loop(LoopExaminer(process, tid: getpid(), isDeclared: false))
        func work(besides others: LoopExaminer.Other...) -> PendingWork { loop.work(at: object, besides: others, at: 1) }
        // Nothing is ready.
        #expect(work(besides: sibling) == .pending)
        let client = Self.connect(to: listener)
        defer { close(client) }
        #expect(work(besides: sibling) == .none && work(besides: stranger, sibling) == .none)
        #expect(work() == .pending && work(besides: stranger) == .pending)
        // Of one that was never seen in its wait the process counts.
        #expect(work(besides: unseen) == .none && work(besides: .process(getpid())) == .none)
        // What is its own is as well ready.
        _ = write(pipe[1], "x", 1)
        #expect(work(besides: sibling) == .pending)
    }

    @Test func `of many loops a few are read in one look`() throws {
        let (listener, other) = (Self.listen(), Self.listen())
        defer { for descriptor in [listener, other] { close(descriptor) } }
        let (object, loop) = try Self.wait(for: [listener])
        let client = Self.connect(to: listener)
        defer { close(client) }
        let strangers = try (0..<LoopExaminer.mostFirstReadings + 2).map { _ in
            LoopExaminer.Other.loop(try Self.wait(for: [other]).loop)
        }
        func work(at now: UInt64) -> PendingWork { loop.work(at: object, besides: strangers, at: now) }
        #expect(work(at: 1) == .unknown && work(at: 2) == .pending && work(at: 3) == .pending)
        // A while later they may wait at others.
        #expect(work(at: 2_000_000_000) == .unknown)
    }
}
