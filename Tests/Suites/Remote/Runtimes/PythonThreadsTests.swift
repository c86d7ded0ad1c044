internal import Glibc
internal import Testing

@testable internal import LagRemote

/// Lists of interpreters and threads, created in this process's memory.
struct PythonThreadsTests {
    /// Each structure has a page.
    private final class Lists {
        static let pages = 16
        let layout: PythonLayout
        private let start = UnsafeMutableRawPointer.allocate(byteCount: pages * 4096, alignment: 4096)

        init(_ layout: PythonLayout) {
            self.layout = layout
            start.initializeMemory(as: UInt8.self, repeating: 0, count: Self.pages * 4096)
        }

        deinit { start.deallocate() }

        func page(_ index: Int) -> UInt64 { UInt64(UInt(bitPattern: start)) + UInt64(index) * 4096 }
        func store(_ word: UInt64, _ index: Int, _ offset: UInt64) {
            start.storeBytes(of: word, toByteOffset: index * 4096 + Int(offset), as: UInt64.self)
        }

        /// An interpreter in one page, and its only thread state in another.
        func interpreter(_ index: Int, next: Int?, state: Int, tid: UInt64) {
            store(next.map(page) ?? 0, index, layout.nextInterpreter)
            store(page(state), index, layout.firstThread)
            store(page(index), state, layout.interpreter)
            store(tid, state, layout.nativeThread)
        }

        /// Gives a state frames; its data on the C stack is in another page.
        func run(_ state: Int, stack: Int) {
            guard case .cframe(let offset, let current) = layout.current else { return }
            store(page(stack), state, offset)
            store(page(15), stack, current)
        }

        var threads: PythonThreads { PythonThreads(RemoteMemory(process: getpid()), layout, runtime: page(0)) }
    }

    private static let layouts: [PythonLayout] = [.version3x11, .version3x12]

    @Test(arguments: 0..<2) func `of several states of a thread, the running one is used`(version: Int) {
        let lists = Lists(Self.layouts[version])
        lists.store(lists.page(1), 0, lists.layout.firstInterpreter)
        // The newest interpreter comes first: its state has no frames.
        lists.interpreter(1, next: 2, state: 3, tid: 77)
        lists.interpreter(2, next: nil, state: 4, tid: 77)
        lists.run(4, stack: 9)
        let threads = lists.threads
        #expect(threads.state(of: 77) == lists.page(4))
        // That state calls the other one, which is therefore lower on the stack.
        lists.run(3, stack: 8)
        #expect(threads.state(of: 77) == lists.page(3))
        #expect(threads.holds(lists.page(4), of: 77) && !threads.holds(lists.page(5), of: 77))
    }

    @Test(arguments: 0..<2) func `a thread without a state is searched for again only once another state is created`(version: Int)
    {
        let lists = Lists(Self.layouts[version])
        let layout = lists.layout
        lists.store(lists.page(1), 0, layout.firstInterpreter)
        // A thread of this process.
        lists.interpreter(1, next: nil, state: 3, tid: UInt64(getpid()))
        let threads = lists.threads
        #expect(threads.state(of: 78) == nil)
        lists.store(lists.page(4), 3, layout.nextThread)
        lists.store(lists.page(1), 4, layout.interpreter)
        lists.store(78, 4, layout.nativeThread)
        // The number of the next state shows that one was created.
        #expect(threads.state(of: 78) == nil && threads.state(of: getpid()) == lists.page(3))
        lists.store(8, 1, layout.firstThread - 8)
        #expect(threads.state(of: 78) == lists.page(4) && threads.state(of: 79) == nil)
        // A state without a thread may get any thread.
        lists.store(0, 4, layout.nativeThread)
        lists.store(9, 1, layout.firstThread - 8)
        #expect(threads.state(of: 79) == nil)
        lists.store(79, 4, layout.nativeThread)
        #expect(threads.state(of: 79) == lists.page(4))
    }

    /// Thread 77 is the main thread. The only state contains thread ID 99 and page 10 as its pthread structure.
    private func withDescriptor(_ version: Int) -> Lists {
        var layout = Self.layouts[version]
        (layout.descriptorNumber, layout.mainThread) = (720, 77)
        let lists = Lists(layout)
        lists.store(lists.page(1), 0, layout.firstInterpreter)
        lists.interpreter(1, next: nil, state: 3, tid: 99)
        lists.store(lists.page(10), 3, layout.nativeThread - 8)
        return lists
    }

    @Test(arguments: 0..<2) func `in a forked process the ID of the main thread is read from its pthread structure`(version: Int)
    {
        let lists = withDescriptor(version)
        lists.store(77, 10, 720)
        #expect(lists.threads.state(of: 77) == lists.page(3) && lists.threads.state(of: 99) == nil)
        // The structure cannot be read.
        lists.store(16, 3, lists.layout.nativeThread - 8)
        #expect(lists.threads.state(of: 77) == nil && lists.threads.state(of: 99) == lists.page(3))
    }

    /// The kernel writes the ID when the process first gets a processor, which may be late on a busy machine.
    @Test(arguments: 0..<2) func `a forked process that has not run yet does not lose its frames`(version: Int) {
        let lists = withDescriptor(version)
        lists.store(99, 10, 720)
        let threads = lists.threads
        #expect(threads.state(of: 77) == nil)
        lists.store(77, 10, 720)
        #expect(threads.state(of: 77) == lists.page(3))
    }

    /// The C library reuses the structure of an exited thread for a new one.
    @Test(arguments: 0..<2) func `a new thread does not get the state of an exited thread`(version: Int) {
        let lists = withDescriptor(version)
        lists.store(100, 10, 720)
        #expect(lists.threads.state(of: 100) == nil && lists.threads.state(of: 99) == lists.page(3))
    }

    @Test(arguments: 0..<2) func `a known state is not used alone once there is another interpreter`(version: Int) {
        let lists = Lists(Self.layouts[version])
        lists.store(lists.page(1), 0, lists.layout.firstInterpreter)
        lists.interpreter(1, next: nil, state: 3, tid: 77)
        lists.run(3, stack: 9)
        let threads = lists.threads
        #expect(threads.state(of: 77) == lists.page(3) && threads.state(of: 77) == lists.page(3))
        // The new one comes first, and its state's call is lower on the stack.
        lists.store(lists.page(2), 0, lists.layout.firstInterpreter)
        lists.interpreter(2, next: 1, state: 4, tid: 77)
        lists.run(4, stack: 8)
        #expect(threads.state(of: 77) == lists.page(4))
    }

    @Test(arguments: 0..<2) func `a freed state is no longer used`(version: Int) {
        let lists = Lists(Self.layouts[version])
        let layout = lists.layout
        lists.store(lists.page(1), 0, layout.firstInterpreter)
        lists.interpreter(1, next: nil, state: 3, tid: 77)
        let threads = lists.threads
        #expect(threads.state(of: 77) == lists.page(3))
        // Another thread's state comes first, then a new state of this thread. The freed memory keeps its content.
        lists.interpreter(1, next: nil, state: 4, tid: 78)
        lists.store(lists.page(5), 4, layout.nextThread)
        lists.store(lists.page(4), 5, layout.nextThread - 8)
        lists.store(lists.page(1), 5, layout.interpreter)
        lists.store(77, 5, layout.nativeThread)
        #expect(threads.state(of: 77) == lists.page(5) && !threads.holds(lists.page(3), of: 77))
        #expect(threads.state(of: 77) == lists.page(5))
    }
}
