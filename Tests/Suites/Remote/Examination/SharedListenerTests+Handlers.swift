internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import LagActivity
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import LagRemote

extension SharedListenerTests {
    @Test func `a handler above the wait is proved by its calls only while a client waits to be accepted`() throws {
        let (listener, instance) = (Self.listen(), cll_poller_create())
        #expect(cll_poller_watch(instance, listener, UInt32(CLL_POLL_READABLE), 0) == 0)
        var ends: [Int32] = [0, 0]
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let answer = ends[0]
        let question = ends[1]
        // Only if the answer below is not given.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        _ = setsockopt(answer, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        defer { for descriptor in [listener, instance] + ends { close(descriptor) } }
        let receive: @Sendable () -> Void = {
            var byte: UInt8 = 0
            _ = recv(answer, &byte, 1, 0)
        }
        let found = try Self.wait(in: receive) { call, waiting -> [Bool]? in
            // Otherwise it was not in its wait yet.
            guard call.number == Int64(SYS_recvfrom), call.arguments.0 == UInt64(answer) else { return nil }
            defer { _ = send(question, "x", 1, 0) }
            let loop = LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: false)
            loop.record(epoll: instance)
            func isProved(_ stretch: UInt64) -> Bool { loop.proof(limit: call.sp - 1, at: 2, stretch: stretch)?.isLoop == true }
            func examine(_ stretch: UInt64, isHandler: Bool) {
                _ = loop.examine(limit: call.sp - 1, at: 2, stretch: stretch) { _ in isHandler }
            }
            examine(5, isHandler: true)
            let before = isProved(5)
            let client = Self.connect(to: listener)
            defer { close(client) }
            let after = [isProved(5), isProved(6)]
            examine(6, isHandler: false)
            examine(7, isHandler: true)
            return [before] + after + [isProved(6), isProved(7)]
        }
        #expect(found == [false, true, false, false, true])
    }

    /// A server that ends: its loop has returned, and it waits for its threads while a client is still in the queue.
    @Test func `a thread that sleeps elsewhere in the same stretch is no longer proved to be in its handler`() throws {
        let (listener, instance) = (Self.listen(), cll_poller_create())
        #expect(cll_poller_watch(instance, listener, UInt32(CLL_POLL_READABLE), 0) == 0)
        var ends: [Int32] = [0, 0]
        _ = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let (answer, question) = (ends[0], ends[1])
        // Only if an answer below is not given.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        _ = setsockopt(answer, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let client = Self.connect(to: listener)
        defer { for descriptor in [listener, instance, client] + ends { close(descriptor) } }
        let receiveTwice: @Sendable () -> Void = {
            var byte: UInt8 = 0
            _ = recv(answer, &byte, 1, 0)
            _ = read(answer, &byte, 1)
        }
        let found = try Self.wait(in: receiveTwice) { call, waiting -> [Bool]? in
            guard call.number == Int64(SYS_recvfrom), call.arguments.0 == UInt64(answer) else { return nil }
            let loop = LoopExaminer(ProcessHandle(getpid()), tid: waiting, isDeclared: false)
            loop.record(epoll: instance)
            // Below both.
            let limit = call.sp - 65536
            func isProved() -> Bool { loop.proof(limit: limit, at: 2, stretch: 5)?.isLoop == true }
            func examine(isHandler: Bool) { _ = loop.examine(limit: limit, at: 2, stretch: 5) { _ in isHandler } }
            examine(isHandler: true)
            let before = isProved()
            _ = send(question, "x", 1, 0)
            defer { _ = send(question, "x", 1, 0) }
            var next = cll_thread_syscall()
            let isElsewhere = eventually {
                cll_procfs_syscall(getpid(), waiting, &next) == Int32(CLL_SYSCALL_BLOCKED) && next.number == Int64(SYS_read)
            }
            let after = isProved()
            examine(isHandler: false)
            let atEnd = isProved()
            // Shown there, it is proved there.
            examine(isHandler: true)
            return [before, isElsewhere, after, atEnd, isProved()]
        }
        #expect(found == [true, true, false, false, true])
    }
}
