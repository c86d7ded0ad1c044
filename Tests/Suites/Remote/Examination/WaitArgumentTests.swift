internal import CLagLinux
internal import Glibc
internal import Synchronization
internal import Testing

@testable internal import LagRemote

struct WaitArgumentTests {
    /// Providing it may take the process itself, or a file system in user space, so a read of it may not return.
    @Test(arguments: [SYS_ppoll, SYS_pselect6]) func `arguments in an absent page are not read`(number: Int32) throws {
        let size = sysconf(Int32(_SC_PAGESIZE))
        let page = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        try #require(page != MAP_FAILED)
        defer { munmap(page, size) }
        var call = cll_thread_syscall()
        let address = UInt64(UInt(bitPattern: page))
        call.number = Int64(number)
        (call.arguments.0, call.arguments.1) = number == SYS_ppoll ? (address, 1) : (1, address)
        #expect(WaitObject(process: getpid(), of: call) == nil)
        page.storeBytes(of: 1, as: UInt64.self)
        #expect(WaitObject(process: getpid(), of: call) != nil)
    }

    /// A thread of a pool may wait for its one connection like that.
    @Test(.enabled(if: MemoryCopyTests.showsPages)) func `a wait whose arguments cannot be read is not one on a ring`() throws {
        let probe = try ObjectProbe("level")
        let examiner = probe.makeExaminer()
        let isRing = try probe.sleeping(in: "g") { call -> Bool? in
            // The page is dropped during the wait.
            for _ in 0..<200 where WaitObject(process: probe.pid, of: call) != nil { usleep(1000) }
            guard WaitObject(process: probe.pid, of: call) == nil else { return nil }
            examiner.recordRest(call, at: 1)
            guard examiner.isAsleep(in: call) else { return nil }
            return examiner.state.withLock { $0.isRing }
        }
        #expect(!isRing)
        #expect(try probe.answer() == 0)
    }
}
