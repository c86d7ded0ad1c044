internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import Testing

@testable internal import LagRemote

struct MemoryCopyTests {
    @Test func `the first reads are performed even after the deadline`() throws {
        let words = [UInt64](0..<64)
        try words.withUnsafeBufferPointer { words in
            let start = UInt64(UInt(bitPattern: words.baseAddress))
            let copy = try #require(MemoryCopy(process: getpid()))
            copy.open(nil, within: 0)
            let read = (0..<64).prefix { copy.load(start + UInt64($0) * 8) == UInt64($0) }.count
            #expect(read == MemoryCopy.leastReads && !copy.hasRoom && !copy.mayLookOn)
            // Also by one call for many places.
            copy.open(nil, within: 0)
            let places = (0..<64).map { start + UInt64($0) * 8 }
            copy.prefetch(places, 8)
            #expect(places.prefix { copy.holds($0, 8) }.count == MemoryCopy.leastReads)
            // Unreadable places cost one read each, not a batch; the null pointer costs none.
            copy.open(nil, within: 0)
            copy.prefetch([0, 8, 0, 16] + places, 8)
            #expect(places.prefix { copy.holds($0, 8) }.count >= MemoryCopy.leastReads - 2)
            copy.close(nil)
        }
    }

    /// Some sandboxes forbid `move_pages`.
    static let showsPages = {
        guard let page = cll_memory_map(4096) else { return false }
        defer { cll_memory_unmap(page, 4096) }
        var address = UInt64(UInt(bitPattern: page))
        return cll_memory_ready_pieces(getpid(), &address, 8, 1) == 0
    }()

    /// A page that is not there may be provided by the thread that is stopped meanwhile. A read would make it present.
    @Test(.enabled(if: MemoryCopyTests.showsPages)) func `pages that are not in memory are neither read nor waited for`() throws {
        let page = 4096
        let memory = try #require(cll_memory_map(12 * page))
        defer { cll_memory_unmap(memory, 12 * page) }
        for index in [0, 1, 2, 4, 6] { memset(memory + index * page, Int32(index + 1), page) }
        let start = UInt64(UInt(bitPattern: memory))
        func place(_ index: Int, _ offset: Int = 0) -> UInt64 { start + UInt64(index * page + offset) }
        var missing = place(3)
        let copy = try #require(MemoryCopy(process: getpid()))
        copy.open(nil, within: 1_000_000_000)
        #expect(copy.load(place(3), as: UInt8.self) == nil && copy.load(place(4), as: UInt8.self) == 5)
        // Across the end of a page.
        #expect(copy.bytes(place(2, page - 4), 8) == nil && copy.bytes(place(1, page - 4), 8) != nil)
        // A long piece has a gap there, or begins after it; a whole one is absent.
        copy.prefetch(place(0, 100), 10 * page)
        #expect(copy.holds(place(0, 100), 3 * page - 100) && !copy.holds(place(2, page - 8), 9) && copy.holds(place(6), page))
        copy.open(nil, within: 1_000_000_000)
        copy.prefetch(place(2, page - 16), 32)
        #expect(copy.holds(place(2, page - 16), 16))
        copy.prefetch(place(3, 100), page + 200)
        #expect(copy.holds(place(4), 300) && !copy.holds(place(3, page - 1), 1) && !copy.holds(place(4), 301))
        #expect(copy.bytes(place(2), 2 * page) == nil)
        // Others of many places are read.
        copy.open(nil, within: 1_000_000_000)
        let places = (0..<12).map { place($0, 64) }
        copy.prefetch(places, 32)
        #expect(places.indices.filter { copy.holds(places[$0], 32) } == [0, 1, 2, 4, 6])
        copy.close(nil)
        #expect(cll_memory_ready_pieces(getpid(), &missing, 8, 1) == 0)
    }

    @Test func `places that are not mapped, or at the end of the address space, need no wait`() {
        let places: [UInt64] = [0, 8, .max, .max - 3, 1 << 63]
        #expect(
            places.withUnsafeBufferPointer { cll_memory_ready_pieces(getpid(), $0.baseAddress, 64, $0.count) } == places.count
        )
    }
}
