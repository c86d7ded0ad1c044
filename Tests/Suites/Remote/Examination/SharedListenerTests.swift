internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Which loops the clients of a listening socket wait for. Uses sockets of this process while threads wait on them.
struct SharedListenerTests {
    private final class ThreadNumber: Sendable {
        let value = Atomic<Int32>(0)
    }

    /// The object on which a thread waits in `poll` for a moment, and the examiner that has seen it there.
    static func wait(for descriptors: [Int32]) throws -> (object: WaitObject, loop: LoopExaminer) {
        try wait(for: descriptors) { call, waiting in
            guard let object = WaitObject(process: getpid(), of: call) else { return nil }
            let loop = LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: false)
            loop.recordRest(call, at: 1)
            return (object, loop)
        }
    }

    static func wait<Found>(for descriptors: [Int32], _ make: (cll_thread_syscall, Int32) -> Found?) throws -> Found {
        try wait(
            in: {
                var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
                poll(&entries, nfds_t(entries.count), 500)
            },
            make
        )
    }

    /// - Parameters:
    ///   - sleep: the call in which a thread sleeps for a moment.
    ///   - make: gets the call in which the thread sleeps, and the thread's ID.
    static func wait<Found>(
        in sleep: @escaping @Sendable () -> Void,
        _ make: (cll_thread_syscall, Int32) -> Found?
    ) throws -> Found {
        let tid = ThreadNumber()
        let thread = Thread {
            tid.value.store(cll_gettid(), ordering: .releasing)
            sleep()
        }
        thread.start()
        var found: Found?
        while !thread.isFinished {
            var call = cll_thread_syscall()
            let waiting = tid.value.load(ordering: .acquiring)
            if found == nil, waiting != 0, cll_procfs_syscall(getpid(), waiting, &call) == Int32(CLL_SYSCALL_BLOCKED) {
                found = make(call, waiting)
            }
            usleep(1000)
        }
        return try #require(found)
    }

    static func listen() -> Int32 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = Glibc.listen(listener, 4)
        return listener
    }

    static func connect(to listener: Int32) -> Int32 {
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

    @Test func `clients of a shared listener do not wait for one particular loop`() throws {
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
        // For a loop that was never seen in its wait, its process counts.
        #expect(work(besides: unseen) == .none && work(besides: .process(getpid())) == .none)
        // Its own pipe is ready, too.
        _ = write(pipe[1], "x", 1)
        #expect(work(besides: sibling) == .pending)
    }

    @Test func `a thread that waits for an accepted client of a pure accept loop serves that client`() throws {
        let process = ProcessHandle(getpid())
        let listener = Self.listen()
        let client = Self.connect(to: listener)
        let served = accept(listener, nil, nil)
        var pipe: [Int32] = [0, 0]
        _ = Glibc.pipe(&pipe)
        defer { for descriptor in [listener, client, served] + pipe { close(descriptor) } }
        func awaitsClient(_ descriptors: Int32..., of loop: [Int32]) throws -> Bool {
            let object = try Self.wait(for: loop).object
            return try Self.wait(for: descriptors) { call, _ in
                var call = call
                return object.awaitsClient(in: &call, pidfd: process.descriptor, process: process.pid)
            }
        }
        #expect(try awaitsClient(served, of: [listener]))
        // Its own connection to another server, and a set that may be a loop of its own.
        #expect(try !awaitsClient(client, of: [listener]) && !awaitsClient(served, pipe[0], of: [listener]))
        // A loop with more descriptors may keep other clients waiting.
        #expect(try !awaitsClient(served, of: [listener, pipe[0]]) && !awaitsClient(served, of: [pipe[0]]))
    }

    @Test func `a thread that accepts on a listening socket of its loop serves that loop`() throws {
        let (listener, other) = (Self.listen(), Self.listen())
        defer { for descriptor in [listener, other] { close(descriptor) } }
        var limit = timeval(tv_sec: 0, tv_usec: 500_000)
        setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let (object, another) = (try Self.wait(for: [listener]).object, try Self.wait(for: [other]).object)
        func accepts(_ call: cll_thread_syscall, _ tid: Int32) -> [Bool]? {
            var call = call
            return [object.isAccepted(in: &call, process: getpid()), another.isAccepted(in: &call, process: getpid())]
        }
        let found = try Self.wait(in: { _ = accept(listener, nil, nil) }, accepts)
        #expect(found == [true, false])
    }

    @Test func `events from the program itself are not client work`() throws {
        let process = ProcessHandle(getpid())
        let listener = Self.listen()
        let client = Self.connect(to: listener)
        let served = accept(listener, nil, nil)
        var pipe: [Int32] = [0, 0]
        _ = Glibc.pipe(&pipe)
        defer { for descriptor in [listener, client, served] + pipe { close(descriptor) } }
        let server = try Self.wait(for: [listener, served, pipe[0]]).object
        let asking = try Self.wait(for: [client, pipe[0]]).object
        func hasClientWork(_ object: WaitObject) -> Bool? {
            object.hasClientWork(pidfd: process.descriptor, process: process.pid)
        }
        _ = write(pipe[1], "x", 1)
        // A reply to a request of this process.
        _ = write(served, "x", 1)
        #expect(hasClientWork(server) == false && hasClientWork(asking) == false)
        _ = write(client, "x", 1)
        #expect(hasClientWork(server) == true && hasClientWork(asking) == false)
        var byte: UInt8 = 0
        _ = read(served, &byte, 1)
        #expect(hasClientWork(server) == false)
        let second = Self.connect(to: listener)
        defer { close(second) }
        #expect(hasClientWork(server) == true)
    }

    /// As after `exec 3<&0` in a shell.
    @Test func `a second descriptor of a pipe's end is not its other end`() throws {
        let process = ProcessHandle(getpid())
        var pipe: [Int32] = [0, 0]
        _ = Glibc.pipe(&pipe)
        let second = dup(pipe[0])
        defer { for descriptor in [pipe[0], second] { close(descriptor) } }
        let (object, _) = try Self.wait(for: [pipe[0]])
        _ = write(pipe[1], "x", 1)
        func hasClientWork() -> Bool? { object.hasClientWork(pidfd: process.descriptor, process: process.pid) }
        #expect(hasClientWork() == false)
        close(pipe[1])
        #expect(hasClientWork() == nil)
    }

    /// As if a read of its process's memory did not return.
    @Test func `an examination that does not end holds up no other thread`() throws {
        let listener = Self.listen()
        let (object, loop) = try Self.wait(for: [listener])
        let sibling = try Self.wait(for: [listener]).loop
        let client = Self.connect(to: listener)
        let (held, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        defer { for descriptor in [listener, client] { close(descriptor) } }
        #expect(loop.work(at: object, besides: [.loop(sibling)], at: 1) == .none)
        Thread.detachNewThread {
            sibling.state.withLock { _ in
                held.signal()
                released.wait()
            }
        }
        held.wait()
        defer { released.signal() }
        #expect(loop.work(at: object, besides: [.loop(sibling)], at: 1) == .unknown)
        let proof = loop.proof(limit: .max, at: 1, others: { [.loop(sibling)] })
        #expect(proof?.isLoop == true && proof?.isWorkPending == nil)
        #expect(!sibling.waitsForTimeAlone && !sibling.isSeen())
        #expect(sibling.proof(limit: 0, epoll: 0, at: 1) == nil)
    }

    @Test func `a thread that waits for time alone is a loop only if it is declared to be one`() throws {
        let found = try Self.wait(for: []) { call, waiting -> [Bool]? in
            let answers = [false, true].map { isDeclared in
                let loop = LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: isDeclared)
                loop.recordRest(call, at: 1)
                return loop.waitsForTimeAlone
            }
            // Otherwise it was not in its wait yet.
            return answers[0] ? answers : nil
        }
        #expect(found == [true, false])
    }

    @Test func `a loop whose descriptors are all gone at its end still counts`() throws {
        let found = try Self.wait(for: []) { call, waiting -> [Bool]? in
            let examiners = (0..<2).map { _ in LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: false) }
            examiners[0].record(epoll: 0)
            for examiner in examiners { examiner.recordRest(call, at: 1_000_000_000) }
            // Otherwise it was not in its wait yet.
            return examiners[1].waitsForTimeAlone ? examiners.map(\.waitsForTimeAlone) : nil
        }
        #expect(found == [false, true])
    }

    @Test func `only a few of many other loops are read per examination`() throws {
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
        // After a while they may wait on other objects.
        #expect(work(at: 2_000_000_000) == .unknown)
    }
}
