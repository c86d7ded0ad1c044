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
}
