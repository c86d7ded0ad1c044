internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import LagModel
internal import Testing

@testable internal import LagRemote

/// Copies made while a thread is stopped.
@Suite struct StoppedCopyTests {
    /// Counts the requested copies.
    private final class Counting: LanguageRuntime {
        let modules: Set<Int> = []
        let copiesFrames = true
        let copies = PthreadMutex(0)

        func prepare(tid: Int32, innerTid: Int32) -> UInt64? { 1 }
        func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) { copies.withLock { $0 += 1 } }
        func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] { stack }
        func name(_ frame: LanguageFrame) -> LanguageFrameName? { nil }
    }

    @Test func `the work of a stop is rehearsed once before the first stop, without a result`() throws {
        let runtime = Counting()
        let process = getpid()
        let source = LanguageFrames(process: process) { _ in }
        let thread = PreparedThread(source, [(runtime, 1)], (process, process), nil)
        let stopped = StoppedCopy(try #require(MemoryCopy(process: process)))
        stopped.rehearse(thread)
        #expect(runtime.copies.withLock { $0 } == 1)
        #expect(stopped.taken == nil)
        // No real copy was requested.
        var snapshot = cll_snapshot()
        stopped.take(process, &snapshot)
        #expect(runtime.copies.withLock { $0 } == 1)
    }
}
