internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// An invented V8 heap: objects at addresses, and reading them.
@Suite struct V8HeapTests {
    /// Memory that is written by words; all other addresses are unreadable.
    private final class Memory {
        var bytes: [UInt64: UInt8] = [:]
        func put(_ address: UInt64, _ words: UInt64...) {
            for (index, word) in words.enumerated() { put(address + UInt64(index) * 8, word) }
        }
        func put(_ address: UInt64, _ word: UInt64) {
            for byte in 0..<8 { bytes[address + UInt64(byte)] = UInt8(truncatingIfNeeded: word >> UInt64(byte * 8)) }
        }
        func put(_ address: UInt64, _ text: String) {
            for (index, byte) in text.utf8.enumerated() { bytes[address + UInt64(index)] = byte }
        }
        func read(_ address: UInt64, _ count: Int) -> [UInt8]? {
            var found: [UInt8] = []
            for place in 0..<UInt64(count) {
                guard let byte = bytes[address &+ place] else { return nil }
                found.append(byte)
            }
            return found
        }
        /// A map of this type.
        func map(_ address: UInt64, _ type: UInt64) -> UInt64 {
            put(address, 0, type << 32)
            return address + 1
        }
    }

    private func heap(_ memory: Memory) throws -> V8Heap { V8Heap(layout: try V8Constants.layout()) { memory.read($0, $1) } }

    @Test func `strings of all representations are read, and cyclic strings terminate`() throws {
        let memory = Memory()
        let oneByte = memory.map(0x1000, 40)
        let cons = memory.map(0x1100, 41)
        let thin = memory.map(0x1200, 45)
        let sliced = memory.map(0x1300, 43)
        memory.put(0x2000, oneByte, 5 << 32)
        memory.put(0x2010, "shop.")
        memory.put(0x2100, oneByte, 8 << 32)
        memory.put(0x2110, "checkout")
        memory.put(0x2200, cons, 13 << 32, 0x2001, 0x2101)
        memory.put(0x2300, thin, 13 << 32, 0x2201)
        memory.put(0x2400, sliced, 3 << 32, 0x2101, 5 << 32)
        let heap = try heap(memory)
        #expect(heap.text(0x2001, limit: 100) == "shop.")
        #expect(heap.text(0x2201, limit: 100) == "shop.checkout")
        #expect(heap.text(0x2401, limit: 100) == "out")
        #expect(heap.text(0x2201, limit: 12) == nil)
        #expect(heap.text(0x2000, limit: 12) == nil)
        // A string that consists of itself twice.
        memory.put(0x2500, cons, 2 << 32, 0x2501, 0x2501)
        #expect(heap.text(0x2501, limit: 100) == nil)
        // A slice beyond its parent's end.
        memory.put(0x2600, sliced, 5 << 32, 0x2101, 5 << 32)
        #expect(heap.text(0x2601, limit: 100) == nil)
        // A character that no name contains.
        memory.put(0x2700, oneByte, 2 << 32)
        memory.put(0x2710, "a\n")
        #expect(heap.text(0x2701, limit: 100) == nil)
    }

    @Test func `a position table is read up to the position, and a corrupt table gives no result`() {
        // (-1 + 1 = 0, 10), (4, 12), (9, 40): code differences marked as statements, source differences in zigzag encoding.
        let table: [UInt8] = [2, 20, 8, 4, 10, 56]
        #expect(V8Positions.source(table, at: -1) == nil)
        #expect(V8Positions.source(table, at: 0)?.raw == 10)
        #expect(V8Positions.source(table, at: 5)?.raw == 12)
        #expect(V8Positions.source(table, at: 1000)?.raw == 40)
        #expect(V8Positions.source(Array(table.dropLast()), at: 1000) == nil)
        #expect(V8Positions.source([UInt8](repeating: 0xff, count: 100), at: 3) == nil)
        #expect(V8Positions.Source(raw: 41 << 1 | 3 << 31).offset == 40)
        #expect(V8Positions.Source(raw: 41 << 1 | 3 << 31).inlining == 3)
    }

    @Test func `a position in baseline code is mapped to its bytecode`() {
        var sizes = [UInt8](repeating: 1, count: 30)
        (sizes[5], sizes[15]) = (2, 3)
        // A prologue of 10 bytes; then 4 for [5 0], 6 for [wide 5 0 0], 1 for [4].
        let bytecodes: [UInt8] = [5, 0, 0, 5, 0, 0, 4]
        let table: [UInt8] = [10, 4, 6, 1]
        func offset(_ place: UInt64) -> Int? { V8Positions.bytecodeOffset(table, bytecodes, sizes: sizes, at: place) }
        #expect(offset(3) == 0)
        #expect(offset(13) == 0)
        #expect(offset(14) == 2)
        #expect(offset(20) == 6)
        #expect(offset(21) == nil)
        #expect(V8Positions.bytecodeOffset(table, bytecodes, sizes: [], at: 14) == nil)
    }

    @Test func `class constructors are recognised as functions`() throws {
        // JS_CLASS_CONSTRUCTOR_TYPE of node 20, which exports only the first type.
        #expect(try V8Constants.layout().types.functions == 2066...2081)
    }

    @Test func `a build with unsupported constants is rejected with the name of the constant`() throws {
        var constants = V8Constants.node20
        constants["TaggedSize"] = 4
        #expect(throws: V8Layout.Mismatch.self) { try V8Constants.layout(constants) }
        constants = V8Constants.node20
        constants["off_fp_function"] = nil
        let error = #expect(throws: V8Layout.Mismatch.self) { try V8Constants.layout(constants) }
        #expect(error?.constant == "off_fp_function")
        constants["off_fp_function"] = 1 << 20
        #expect(throws: V8Layout.Mismatch.self) { try V8Constants.layout(constants) }
    }

    @Test(arguments: UInt64(0)..<40) func `reading a random heap terminates after a bounded number of reads`(seed: UInt64) throws
    {
        let layout = try V8Constants.layout()
        let types: [UInt16] = [2066, 245, 262, 261, 167, 191, 252, 190, 175, 240, 40, 41, 43, 45, 32, 33, 35, 42, 131]
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var reads = 0
            var bytesRead = 0
            let heap = V8Heap(layout: layout) { address, count in
                reads += 1
                bytesRead += count
                // Sometimes the end of the mapping.
                guard count <= 1 << 20, bytesRead < 4 << 20, UInt8.random(in: 0..<32, using: &random) > 0 else { return nil }
                if count > 4096 { return [UInt8](repeating: 10, count: count) }
                if count == 2 {
                    let type = types.randomElement(using: &random) ?? 0
                    return [UInt8(truncatingIfNeeded: type), UInt8(truncatingIfNeeded: type >> 8)]
                }
                var bytes: [UInt8] = []
                while bytes.count < count {
                    let word: UInt64 =
                        switch UInt8.random(in: 0..<8, using: &random) {
                        case 0...3: UInt64.random(in: 0..<(1 << 40), using: &random) << 3 | 1
                        case 4: UInt64.random(in: 0..<64, using: &random) << 32
                        case 5: UInt64(UInt32.random(in: 0 ... .max, using: &random)) << 32
                        case 6: .max
                        default: UInt64.random(in: 0 ... .max, using: &random)
                        }
                    for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
                }
                return Array(bytes.prefix(count))
            }
            let stack = V8Stack(heap: heap, bytecodeSizes: [UInt8](repeating: 1, count: 600))
            let pc = UInt64.random(in: 0 ... .max, using: &random)
            for isInRuntime in [true, false] {
                let frames = stack.frames(
                    pc: pc,
                    framePointer: UInt64.random(in: 0 ... .max, using: &random),
                    isReturnAddress: Bool.random(using: &random),
                    isInRuntime: isInRuntime,
                    stackPointer: UInt64.random(in: 0 ... .max, using: &random) & ~7
                )
                for frame in frames ?? [] { _ = stack.name(frame) }
            }
            for kind: UInt64 in 0...3 {
                _ = stack.name(LanguageFrame(code: pc | 1, check: 0, position: kind << 56 | pc >> 40, pc: pc))
            }
            #expect(reads < 20_000)
            #expect(bytesRead < 6 << 20)
        }
    }
}
