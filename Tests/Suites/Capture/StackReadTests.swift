import CLagLinux
import Glibc
import Testing

/// Copying a stack leaves untouched pages alone: with userfaultfd, reading one waits for the program that serves the fault.
struct StackReadTests {
    private let page = Int(sysconf(Int32(_SC_PAGESIZE)))

    /// Calls `body` with `count` pages of memory, of which those in `touched` were written to, and a buffer of the same size.
    private func withPages(
        _ count: Int,
        touched: [Int],
        _ body: (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    ) throws {
        #expect(cll_memory_prepare() == 0)
        let memory = try #require(cll_memory_map(count * page))
        defer { cll_memory_unmap(memory, count * page) }
        for index in touched { memset(memory + index * page, Int32(index + 1), page) }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count * page, alignment: 16)
        defer { copy.deallocate() }
        memset(copy, 0xee, count * page)
        body(memory, copy)
    }

    private func bytes(_ copy: UnsafeMutableRawPointer, page index: Int) -> Set<UInt8> {
        Set(UnsafeRawBufferPointer(start: copy + index * page, count: page))
    }

    @Test func `untouched pages of a stack are read as zeros and stay untouched`() throws {
        try withPages(200, touched: [1, 5, 6, 120]) { memory, copy in
            let length = cll_memory_read_stack(getpid(), UInt64(UInt(bitPattern: memory)), copy, 200 * page, 1)
            // Above the last touched page there is nothing.
            #expect(length == 121 * page)
            #expect(bytes(copy, page: 0) == [0] && bytes(copy, page: 1) == [2] && bytes(copy, page: 4) == [0])
            #expect(bytes(copy, page: 6) == [7] && bytes(copy, page: 100) == [0] && bytes(copy, page: 120) == [121])
            #expect(cll_memory_is_untouched(UInt64(UInt(bitPattern: memory)) + UInt64(10 * page), UInt64(100 * page)) != 0)
        }
    }

    @Test func `a stack of unknown size ends at the first untouched page after its first page`() throws {
        try withPages(8, touched: [1, 2, 5]) { memory, copy in
            let begin = UInt64(UInt(bitPattern: memory)) + UInt64(page - 128)
            #expect(cll_memory_read_stack(getpid(), begin, copy, 6 * page, 0) == 2 * page + 128)
        }
    }

    @Test func `a range that starts within a page is copied unchanged`() throws {
        try withPages(3, touched: [0, 1]) { memory, copy in
            let begin = UInt64(UInt(bitPattern: memory)) + 100
            #expect(cll_memory_read_stack(getpid(), begin, copy, page, 1) == page)
            #expect(memcmp(copy, memory + 100, page) == 0)
        }
    }
}
