internal import LagModel

/// The code that HotSpot compiled from methods, and its interpreter: finds the code at an address, and the methods that it
/// belongs to.
///
/// A code heap is divided into segments; a table has, for each, the distance back to the start of its block
/// (`CodeHeap::find_block_for`, `memory/heap.cpp`). Compiled code has a row of positions for each call and each safepoint
/// (`PcDesc`), which leads to the methods that were inlined there, with their bytecodes (`ScopeDesc`, `code/debugInfo.hpp`).
struct HotSpotCode {
    private struct Heap {
        let low, high, segments: UInt64
        let shift: UInt32
    }

    /// A block of code.
    struct Piece {
        let address: UInt64
        let header: [UInt8]
        let begin, end: UInt64
        /// The size of its frame, with the return address; 0: not known, or no frame.
        let frameBytes: UInt64
        /// It has that frame from this address on.
        let frameBegin: UInt64
        /// Of a method.
        let isMethod: Bool
    }

    /// One of the methods at a place.
    struct Level {
        let method: UInt64
        let bytecode: Int?
    }

    private static let maximumHeaps: UInt32 = 8
    /// Steps of 254 segments each: a block of some 2 MB.
    private static let maximumSteps = 64
    private static let maximumFrameBytes: UInt64 = 1 << 20
    private static let maximumPositionBytes: UInt64 = 1 << 18
    private static let maximumLevels = 64
    private static let scopeBytes = 16
    private static let freeSegment: UInt8 = 0xff
    private static let nameBytes = 32

    private let memory: RemoteMemory
    private let layout: HotSpotLayout
    private let heaps: [Heap]
    /// The range of the interpreter's code.
    let interpreter: Range<UInt64>
    /// Where the code that enters Java continues.
    let entryReturn: UInt64

    /// Nil before the JVM has started.
    init?(_ memory: RemoteMemory, _ layout: HotSpotLayout) {
        let code = layout.code
        guard let list: UInt64 = memory.load(code.heaps), let count: UInt32 = memory.load(list &+ code.listCount),
            count > 0, count <= Self.maximumHeaps, let data: UInt64 = memory.load(list &+ code.listData),
            let queue: UInt64 = memory.load(code.interpreter), let buffer: UInt64 = memory.load(queue &+ code.stubBuffer),
            let bytes: UInt32 = memory.load(queue &+ code.stubBufferBytes),
            let entryReturn: UInt64 = memory.load(code.entryReturn)
        else { return nil }
        heaps = (0..<UInt64(count)).compactMap { index in
            guard let heap: UInt64 = memory.load(data &+ index &* 8), let low: UInt64 = memory.load(heap &+ code.heapLow),
                let high: UInt64 = memory.load(heap &+ code.heapHigh), low < high,
                let segments: UInt64 = memory.load(heap &+ code.segments),
                let shift: UInt32 = memory.load(heap &+ code.segmentShift),
                (4...16).contains(shift)
            else { return nil }
            return Heap(low: low, high: high, segments: segments, shift: shift)
        }
        interpreter = buffer..<buffer.saturatingSum(UInt64(bytes))
        self.entryReturn = entryReturn
        self.memory = memory
        self.layout = layout
    }

    /// Whether Java code, or the code that enters it, returns there.
    func isCaller(_ address: UInt64) -> Bool {
        interpreter.contains(address &- 1) || address == entryReturn || piece(at: address &- 1)?.isMethod ?? false
    }

    func holds(_ address: UInt64) -> Bool { heaps.contains { $0.low <= address && address < $0.high } }

    func piece(at address: UInt64) -> Piece? {
        guard let heap = heaps.first(where: { $0.low <= address && address < $0.high }) else { return nil }
        var segment = (address - heap.low) >> heap.shift
        for _ in 0..<Self.maximumSteps {
            guard let back: UInt8 = memory.load(heap.segments &+ segment), back != Self.freeSegment else { return nil }
            if back == 0 { return piece(in: heap.low &+ segment << heap.shift, holding: address) }
            guard segment >= UInt64(back) else { return nil }
            segment -= UInt64(back)
        }
        return nil
    }

    private func piece(in block: UInt64, holding address: UInt64) -> Piece? {
        let blob = layout.blob
        guard let isUsed: UInt8 = memory.load(block &+ layout.code.blockUsed), isUsed != 0 else { return nil }
        let place = block &+ layout.code.blockBytes
        guard let header = memory.bytes(place, Int(blob.bytes)), let dataOffset: UInt32 = header.number(at: Int(blob.dataOffset)),
            let words: UInt32 = header.number(at: Int(blob.frameWords)), let name: UInt64 = header.number(at: Int(blob.name))
        else { return nil }
        let begin: UInt64? =
            blob.isBeginOffset
            ? header.number(at: Int(blob.begin), as: UInt32.self).map { place &+ UInt64($0) } : header.number(at: Int(blob.begin))
        let complete: UInt64? =
            blob.isBeginOffset
            ? header.number(at: Int(blob.frameComplete), as: Int16.self).map { UInt64(bitPattern: Int64($0)) }
            : header.number(at: Int(blob.frameComplete), as: Int32.self).map { UInt64(bitPattern: Int64($0)) }
        guard let begin, let complete, begin >= place, address >= begin, address < place &+ UInt64(dataOffset) else { return nil }
        let bytes = UInt64(words) &* 8
        return Piece(
            address: place,
            header: header,
            begin: begin,
            end: place &+ UInt64(dataOffset),
            frameBytes: bytes <= Self.maximumFrameBytes ? bytes : 0,
            // -1: it never has.
            frameBegin: begin &+ (complete < UInt64(dataOffset) ? complete : 0),
            isMethod: memory.text(name, limit: Self.nameBytes).map { $0 == "nmethod" || $0 == "native nmethod" } ?? false
        )
    }

    /// The methods at a place of a compiled one, the innermost first. Empty if it is not a compiled method.
    func levels(_ piece: Piece, at address: UInt64) -> [Level] {
        let compiled = layout.compiled
        guard piece.isMethod, let method: UInt64 = piece.header.number(at: Int(compiled.method)) else { return [] }
        let outermost = [Level(method: method, bytecode: nil)]
        guard let scope = scope(piece, at: address), scope != 0,
            let scopes = scopes(piece), let methods = methods(piece)
        else { return outermost }
        var levels: [Level] = []
        var place = scope
        while place != 0, levels.count < Self.maximumLevels {
            // The last one may be shorter than the amount read.
            guard let bytes = memory.bytes(scopes &+ UInt64(place), Self.scopeBytes) else { return outermost }
            var numbers = HotSpotNumbers(bytes, excluded: layout.excluded)
            guard let sender = numbers.unsigned(), let index = numbers.unsigned(), let bytecode = numbers.unsigned(),
                index > 0, let found: UInt64 = memory.load(methods &+ UInt64(index - 1) &* 8)
            else { return outermost }
            // It is counted from -1, which is before the first.
            levels.append(Level(method: found, bytecode: bytecode > 0 ? Int(bytecode) - 1 : nil))
            guard sender < place else { return outermost }
            place = sender
        }
        // The outermost must be the method itself; otherwise the data was misread.
        return levels.last?.method == method ? levels : outermost
    }

    /// For a frame that returns to the deoptimisation handler: the offset from its stack pointer to its saved place. Nil: it does
    /// not.
    func placeKept(_ piece: Piece, returningTo address: UInt64) -> UInt64? {
        let compiled = layout.compiled
        let isHandler =
            piece.isMethod
            && compiled.deoptHandlers.contains { column in
                compiled.areDeoptOffsets
                    ? distance(piece, column).map { piece.address &+ $0 == address } ?? false
                    : piece.header.number(at: Int(column)) == address
            }
        return isHandler ? distance(piece, compiled.originalCode) : nil
    }

    private func base(_ piece: Piece, _ pointer: UInt64?) -> UInt64? {
        guard let pointer else { return piece.address }
        return piece.header.number(at: Int(pointer))
    }

    private func distance(_ piece: Piece, _ offset: UInt64) -> UInt64? {
        piece.header.number(at: Int(offset), as: UInt32.self).map { UInt64($0) }
    }

    private func scopes(_ piece: Piece) -> UInt64? {
        let compiled = layout.compiled
        guard compiled.immutableData != nil else { return piece.header.number(at: Int(compiled.scopes)) }
        guard let base = base(piece, compiled.immutableData), let distance = distance(piece, compiled.scopes) else { return nil }
        return base &+ distance
    }

    private func methods(_ piece: Piece) -> UInt64? {
        let compiled = layout.compiled
        guard let base = base(piece, compiled.mutableData), let distance = distance(piece, compiled.methods) else { return nil }
        return base &+ distance
    }

    /// The descriptor of the methods at a place; 0: none.
    private func scope(_ piece: Piece, at address: UInt64) -> UInt32? {
        let compiled = layout.compiled
        guard let base = base(piece, compiled.immutableData), let begin = distance(piece, compiled.positions),
            let end = distance(piece, compiled.positionsEnd), begin < end, end - begin <= Self.maximumPositionBytes,
            compiled.positionBytes > 0, let table = memory.bytes(base &+ begin, Int(end - begin))
        else { return nil }
        let wanted = Int64(bitPattern: address &- piece.begin)
        func row(_ index: Int, _ column: UInt64) -> Int64? {
            table.number(at: index * Int(compiled.positionBytes) + Int(column), as: Int32.self).map { Int64($0) }
        }
        // Sorted; finds the first that is not before it.
        var (low, high) = (0, table.count / Int(compiled.positionBytes))
        while low < high {
            let middle = (low + high) / 2
            guard let code = row(middle, compiled.positionCode) else { return nil }
            if code < wanted { low = middle + 1 } else { high = middle }
        }
        // A call of the JVM itself, such as for the time, has none: as without a call, it is the next safepoint.
        // After the last one, whose row ends the table, it is that one.
        let found = row(low, compiled.positionScope).flatMap { UInt32(exactly: $0) } ?? 0
        return found == 0 && low > 0 ? row(low - 1, compiled.positionScope).flatMap { UInt32(exactly: $0) } : found
    }
}
