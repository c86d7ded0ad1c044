internal import CLagLinux
internal import CLagRemote
internal import Foundation
internal import Synchronization
internal import Testing

@testable internal import LagRemote

/// Of which loops the clients of a listening socket are. This process's own sockets, each as a thread waits on it.
struct SharedListenerTests {
    private final class ThreadNumber: Sendable {
        let value = Atomic<Int32>(0)
    }

    /// What a thread waits on in `poll` for a moment.
    private static func object(of descriptors: [Int32]) throws -> WaitObject {
        let tid = ThreadNumber()
        let thread = Thread {
            tid.value.store(cll_gettid(), ordering: .releasing)
            var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&entries, nfds_t(entries.count), 500)
        }
        thread.start()
        var found: WaitObject?
        while !thread.isFinished {
            var call = cll_thread_syscall()
            let waiting = tid.value.load(ordering: .acquiring)
            if found == nil, waiting != 0, cll_procfs_syscall(getpid(), waiting, &call) == Int32(CLL_SYSCALL_BLOCKED),
                clr_wait_kind(call.number) != 0
            {
                found = WaitObject(process: getpid(), of: call)
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
        let object = try Self.object(of: [listener, pipe[0]])
        let sibling = try Self.object(of: [pipe[0], listener])
        let stranger = try Self.object(of: [other, pipe[0]])
        let examiner = LoopExaminer(process, tid: getpid(), isDeclared: false)
        func isAccepted(by others: WaitObject?...) -> Bool {
            examiner.isAcceptedByOthers(object, others.map { LoopExaminer.Other(process: getpid(), object: $0) })
        }
        // Nothing is ready.
        #expect(!isAccepted(by: sibling))
        let client = Self.connect(to: listener)
        defer { close(client) }
        #expect(isAccepted(by: sibling) && isAccepted(by: stranger, sibling))
        #expect(!isAccepted() && !isAccepted(by: stranger))
        // Of one that was never seen in its wait the process counts.
        #expect(isAccepted(by: nil))
        // What is its own is as well ready.
        _ = write(pipe[1], "x", 1)
        #expect(!isAccepted(by: sibling))
    }
}
