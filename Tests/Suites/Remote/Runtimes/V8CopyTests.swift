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

    @Test func `what no object can be is not copied`() {
        let words: [UInt64] = [0, 1, 0x209, 0xd000_1083_4000_009, 0x7f00_0000_1004, 0x7f00_0000_1005]
        #expect(words.allSatisfy { !V8Heap.canBeObject($0) } && V8Heap.canBeObject(0x7f00_0000_1001))
    }

    /// Without time only a few functions are copied. C++ keeps no frame pointer, so no register leads to the innermost one.
    @Test func `of many functions that C plus plus called, the innermost are copied`() throws {
        let layout = try V8Constants.layout()
        let count = 40
        let frameWords = 128
        let objects = [UInt64](repeating: 0, count: (count + 1) * 64)
        // Each frame has the words as above; the next one is further out.
        var stack = [UInt64](repeating: 0, count: (count + 1) * frameWords)
        let memory = try #require(MemoryCopy(process: getpid()))
        let held = objects.withUnsafeBufferPointer { objects in
            let place = { (index: Int) in UInt64(UInt(bitPattern: objects.baseAddress)) + UInt64(index * 512) }
            return stack.withUnsafeMutableBytes { bytes -> [Bool] in
                let begin = UInt64(UInt(bitPattern: bytes.baseAddress))
                for index in 0..<count {
                    let frame = index * frameWords + 4
                    let words = [place(index) | V8Heap.strongTag, place(count) | V8Heap.strongTag]
                    bytes.storeBytes(of: words[0], toByteOffset: (frame - 2) * 8, as: UInt64.self)
                    bytes.storeBytes(of: words[1], toByteOffset: (frame - 1) * 8, as: UInt64.self)
                    // What has the frame's pointer: a function of C++ below it.
                    bytes.storeBytes(of: begin + UInt64(frame * 8), toByteOffset: (frame - 4) * 8, as: UInt64.self)
                }
                var snapshot = cll_snapshot()
                snapshot.stack = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                snapshot.stack_begin = begin
                (snapshot.stack_length, snapshot.capacity) = (UInt64(bytes.count), UInt64(bytes.count))
                return withUnsafePointer(to: snapshot) { snapshot in
                    memory.open(snapshot, within: 0)
                    var copy = V8Copy(layout, memory)
                    copy.copy(from: nil, stackStart: 0)
                    memory.close(nil)
                    return (0..<count).map { memory.holds(place($0), layout.functionBytes) }
                }
            }
        }
        #expect(held.prefix(8).allSatisfy { $0 } && held.contains(false), "\(held)")
    }
}
