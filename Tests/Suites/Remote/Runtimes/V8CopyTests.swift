internal import CLagLinux
internal import Glibc
internal import Testing

@testable internal import LagRemote

/// What is copied of the functions on a stack, while their thread cannot go on.
struct V8CopyTests {
    /// Of a function without a prototype (V8 11.3).
    private static let functionBytes = 56

    /// V8 fills its pages, and behind them there may be none.
    @Test func `a function at the end of a page is copied`() throws {
        let layout = try V8Constants.layout()
        let page = sysconf(Int32(_SC_PAGESIZE))
        let begin = try #require(mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(begin, 2 * page) }
        #expect(mprotect(begin + page, page, PROT_NONE) == 0)
        let function = begin + (page - Self.functionBytes)
        func tagged(_ place: UnsafeMutableRawPointer) -> UInt64 { UInt64(UInt(bitPattern: place)) | V8Heap.strongTag }
        function.storeBytes(of: tagged(begin), toByteOffset: Int(layout.functionShared), as: UInt64.self)
        // From its own function and context on, the caller's frame pointer.
        var stack = [0, 0, tagged(function), tagged(begin), 0, 0, 0, 0]
        let memory = try #require(MemoryCopy(process: getpid()))
        stack.withUnsafeMutableBytes { bytes in
            var snapshot = cll_snapshot()
            snapshot.stack = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            snapshot.stack_begin = UInt64(UInt(bitPattern: bytes.baseAddress))
            snapshot.stack_length = UInt64(bytes.count)
            snapshot.capacity = UInt64(bytes.count)
            withUnsafePointer(to: snapshot) { snapshot in
                memory.open(snapshot, within: 1_000_000_000)
                var copy = V8Copy(layout, memory)
                copy.copy(from: snapshot.pointee.stack_begin + 32, stackStart: 0)
                memory.close(nil)
            }
        }
        #expect(memory.holds(tagged(function) - V8Heap.strongTag, layout.functionBytes))
        #expect(memory.holds(tagged(begin) - V8Heap.strongTag, layout.sharedBytes))
    }
}
