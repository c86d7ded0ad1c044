internal import Glibc
internal import Testing

@testable internal import LagRemote

/// The chunks in which CPython keeps its frames, created in this process's memory.
struct PythonFrameWalkTests {
    private static let layout = PythonLayout.version3x12
    private static let chunkBytes = 4096

    /// A state whose chunks are at these places of one mapping, the innermost first.
    private static func withChunks(
        at places: [Int],
        of count: Int,
        _ body: (_ state: UInt64, _ place: (Int) -> UInt64, _ memory: MemoryCopy) -> Void
    ) throws {
        let start = UnsafeMutableRawPointer.allocate(byteCount: (count + 1) * chunkBytes, alignment: chunkBytes)
        defer { start.deallocate() }
        start.initializeMemory(as: UInt8.self, repeating: 0, count: (count + 1) * chunkBytes)
        let place = { UInt64(UInt(bitPattern: start)) + UInt64($0 * chunkBytes) }
        // The state follows the chunks.
        let previous = [place(count) + layout.dataStack] + places.map(place)
        for (word, chunk) in zip(previous, places.map(place)) {
            start.storeBytes(of: chunk, toByteOffset: Int(word - place(0)), as: UInt64.self)
        }
        let memory = try #require(MemoryCopy(process: getpid()))
        memory.open(nil, within: 1_000_000_000)
        defer { memory.close(nil) }
        body(place(count), place, memory)
    }

    @Test(arguments: [
        Array((0..<40).reversed()), Array(0..<40), [3, 7, 8, 9, 30, 29, 28, 1], [5], [], Array(stride(from: 36, to: 0, by: -3)),
    ])
    func `the chunks are those that lead to each other, wherever they are`(places: [Int]) throws {
        try Self.withChunks(at: places, of: 40) { state, place, memory in
            #expect(PythonFrameWalk(memory, Self.layout).chunks(of: state) == places.map(place))
        }
    }

    @Test func `the heads of chunks that are next to each other are copied together`() throws {
        try Self.withChunks(at: Array((20..<40).reversed()), of: 40) { state, place, memory in
            #expect(PythonFrameWalk(memory, Self.layout).chunks(of: state).count == 20)
            // Two chunks show the distance; sixteen heads and then sixteen more.
            #expect(memory.holds(place(38 - 31), 8) && !memory.holds(place(38 - 32), 8))
        }
    }
}
