internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import LagModel
internal import Testing

@testable internal import LagRemote

/// What is copied while a thread is held.
@Suite struct StoppedCopyTests {
    /// Counts what it is asked for.
    private final class Counting: LanguageRuntime {
        let modules: Set<Int> = []
        let copiesFrames = true
        let copies = PthreadMutex(0)

        func prepare(tid: Int32, innerTid: Int32) -> UInt64? { 1 }
        func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) { copies.withLock { $0 += 1 } }
        func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] { stack }
        func name(_ frame: LanguageFrame) -> LanguageFrameName? { nil }
    }

    @Test func `what a stop does is done once before the first, and counts for nothing`() throws {
        let runtime = Counting()
        let process = getpid()
        let source = LanguageFrames(process: process) { _ in }
        let thread = PreparedThread(source, [(runtime, 1)], (process, process), nil)
        let stopped = StoppedCopy(try #require(MemoryCopy(process: process)))
        stopped.rehearse(thread)
        #expect(runtime.copies.withLock { $0 } == 1)
        #expect(stopped.taken == nil)
        // It was not asked for in earnest.
        var snapshot = cll_snapshot()
        stopped.take(process, &snapshot)
        #expect(runtime.copies.withLock { $0 } == 1)
    }
}
