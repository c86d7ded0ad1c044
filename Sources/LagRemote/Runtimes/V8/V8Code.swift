/// Machine code that V8 compiled for a function, and the `Code` object that describes it.
struct V8Code {
    /// The start of longer code is not searched. Most functions have some KiB.
    private static let maximumDistance: UInt64 = 256 * 1024
    private static let searchPieceBytes = 4096
    /// Functions that are inlined into each other: V8 stops at some dozen.
    private static let maximumInlining = 64
    /// An inlining position: where the call was, and which function was called (`src/codegen/source-position.h`).
    private static let inliningPositionBytes = 16
    private static let maximumDeoptimizationWords: Int32 = 64 * 1024
    private static let maximumHandlerTableBytes: UInt32 = 64 * 1024

    private let heap: V8Heap
    private let object: UInt64
    private let flags: UInt32
    /// The first instruction.
    let start: UInt64
    let instructionBytes: Int

    /// Nil if the object is not code, or other code than that at `pc`.
    init?(_ heap: V8Heap, _ object: UInt64, holding pc: UInt64) {
        let fields = heap.layout.release.code
        guard heap.type(object) == heap.layout.types.code, let flags = heap.number32(object, fields.flags),
            let size = heap.number32(object, fields.instructionBytes), size > 0
        else { return nil }
        if let place = fields.instructionStart {
            guard let start = heap.field(object, place) else { return nil }
            self.start = start
        } else {
            start = (object &- V8Heap.strongTag) &+ fields.headerBytes
        }
        // A return address may be the end: nothing follows a call that does not return.
        guard pc >= start, pc &- start <= UInt64(size) else { return nil }
        self.heap = heap
        self.object = object
        self.flags = flags
        instructionBytes = Int(size)
    }

    /// The code at `pc`: the function's current code, or the code found there. A loop that became hot runs in code that its
    /// function does not refer to.
    static func find(_ heap: V8Heap, at pc: UInt64, of function: UInt64) -> V8Code? {
        if let field = heap.layout.release.functionCode, let object = heap.field(function, field),
            let code = V8Code(heap, object, holding: pc)
        {
            return code
        }
        return search(heap, pc)
    }

    /// Searches backwards for the object before the instructions. They refer to each other, so a wrong place is excluded.
    private static func search(_ heap: V8Heap, _ pc: UInt64) -> V8Code? {
        let fields = heap.layout.release.code
        var types: [UInt64: UInt16] = [:]
        var end = pc
        while pc &- end < maximumDistance, end > UInt64(searchPieceBytes) {
            let begin = (end &- 1) / UInt64(searchPieceBytes) * UInt64(searchPieceBytes)
            guard let piece = heap.read(begin, Int(end &- begin)) else { return nil }
            // Objects are aligned to words.
            for place in stride(from: (piece.count - 8) / 8 * 8, through: 0, by: -8) {
                guard let map: UInt64 = piece.number(at: place), V8Heap.isObject(map) else { continue }
                // Instructions start where a cache line does, or half of one.
                let address = begin &+ UInt64(place)
                guard (address &+ fields.headerBytes) % 32 == 0 else { continue }
                let type = types[map] ?? heap.instanceType(map: map) ?? 0
                types[map] = type
                guard type == heap.layout.types.stream else { continue }
                let tagged = address &+ V8Heap.strongTag
                guard let stream = fields.stream else {
                    if let code = V8Code(heap, tagged, holding: pc) { return code }
                    continue
                }
                if let object = heap.field(tagged, stream.code), let code = V8Code(heap, object, holding: pc),
                    code.start == address &+ fields.headerBytes
                {
                    return code
                }
            }
            end = begin
        }
        return nil
    }

    /// Whether an address is behind one of its instructions.
    func holds(_ address: UInt64) -> Bool { address >= start && address &- start <= UInt64(instructionBytes) }

    private var kind: UInt32 { flags & heap.layout.codeKindMask }
    var isBaseline: Bool { kind == heap.layout.baselineKind }
    /// By Maglev or Turbofan: the kinds after the baseline.
    var isOptimized: Bool { kind > heap.layout.baselineKind }

    // MARK: Baseline code

    /// The bytecode at `pc`, of a return address that of the call; with the array that it is in.
    func bytecode(at pc: UInt64, isReturnAddress: Bool, sizes: [UInt8]) -> (array: UInt64, offset: Int)? {
        let fields = heap.layout.release.code
        guard isBaseline, let array = heap.field(object, fields.data), heap.type(array) == heap.layout.types.bytecodeArray,
            let positions = heap.field(object, fields.positions).flatMap(heap.table),
            let count = heap.small(array, heap.layout.arrayLength), (1...Int32(V8Heap.maximumTableBytes)).contains(count),
            let bytecodes = heap.read((array &- V8Heap.strongTag) &+ heap.layout.bytecodeData, Int(count))
        else { return nil }
        let place = (pc &- start) &- (isReturnAddress && pc > start ? 1 : 0)
        return V8Positions.bytecodeOffset(positions, bytecodes, sizes: sizes, at: place).map { (array, $0) }
    }

    // MARK: Optimised code

    /// A function that a place in optimised code belongs to.
    struct Level {
        /// Its `SharedFunctionInfo`.
        let shared: UInt64
        /// Where it is between, in characters of its script; nil: not known.
        let positions: ClosedRange<Int>?
    }

    private var deoptimizationData: UInt64? {
        guard let data = heap.field(object, heap.layout.release.code.data), heap.type(data) == heap.layout.types.deoptimization
        else { return nil }
        return data
    }

    /// The function that the code was made of.
    var shared: UInt64? {
        let fields = heap.layout.release.deoptimization
        guard isOptimized, let data = deoptimizationData, let found = heap.element(data, fields.function) else { return nil }
        guard fields.isWrapped else { return found }
        guard heap.type(found) == heap.layout.types.wrapper else { return nil }
        return heap.field(found, 8)
    }

    /// Whether other functions were inlined; nil: not known.
    var inlinedFunctions: Int? {
        guard let data = deoptimizationData else { return nil }
        return heap.element(data, heap.layout.release.deoptimization.inlinedCount).flatMap(V8Heap.small).map(Int.init)
    }

    /// The functions at a place, the innermost first.
    ///
    /// By the positions that were passed last on the paths there. V8 may only keep those of calls: then it is that of the loop
    /// between calls.
    /// - Returns: nil if they are not certain, or one of them cannot be read.
    func levels(at pc: UInt64, isReturnAddress: Bool) -> [Level]? {
        guard pc > start || !isReturnAddress,
            let table = heap.field(object, heap.layout.release.code.positions).flatMap(heap.table),
            let entries = V8Positions.entries(table)
        else { return nil }
        let place = Int(clamping: pc &- start)
        if isReturnAddress, isExit(place) { return levels(of: entries.last { $0.code < place }.map { [$0] } ?? []) }
        guard instructionBytes <= Int(Self.maximumDistance), let bytes = heap.read(start, instructionBytes) else { return nil }
        var passed: [V8Positions.Entry] = []
        if let blocks = V8Blocks(bytes, start: start, end: ownBytes, handlers: handlers),
            isReturnAddress || blocks.isDense(entries)
        {
            passed = blocks.entries(before: isReturnAddress ? place - 1 : place, of: entries)
        }
        let found = levels(of: passed)
        guard !isReturnAddress, found?.first?.positions?.count != 1, let call = V8Loop.behindCall(bytes, around: place) else {
            return found
        }
        // In one of several places of a loop, or between calls: uses the loop's position if it is in the same function.
        let loop = levels(of: entries.last { $0.code < call }.map { [$0] } ?? [])
        return found == nil || found?.map(\.shared) == loop?.map(\.shared) ? loop : found
    }

    /// The instructions without the exits to the interpreter.
    private var ownBytes: Int {
        let exits = deoptimizationData.flatMap { heap.element($0, heap.layout.release.deoptimization.exitStart) }
        return exits.flatMap(V8Heap.small).map(Int.init).flatMap { (1...instructionBytes).contains($0) ? $0 : nil }
            ?? instructionBytes
    }

    /// Of calls that may throw within `try`: the return address, and where an exception leads, both from the first instruction on (`src/codegen/handler-table.h`).
    private var handlers: [V8Blocks.Handler] {
        let fields = heap.layout.release.code
        // After the instructions there are several tables, the last of which ends with all of them.
        guard let begin = heap.number32(object, fields.handlerTable),
            let end = heap.number32(object, fields.instructionBytes &+ 4),
            begin < end, end <= Self.maximumHandlerTableBytes,
            let table = heap.read(start &+ UInt64(instructionBytes) &+ UInt64(begin), Int(end - begin))
        else { return [] }
        var found: [V8Blocks.Handler] = []
        for place in stride(from: 0, through: table.count - 8, by: 8) {
            guard let call: UInt32 = table.number(at: place), let handler: UInt32 = table.number(at: place + 4),
                Int(call) > found.last?.returnAddress ?? 0, Int(call) <= instructionBytes
            else { break }
            found.append(V8Blocks.Handler(returnAddress: Int(call), target: Int(handler >> fields.handlerShift)))
        }
        return found
    }

    /// Whether the interpreter may continue at a return address: then the call belongs to the program, and has the last position.
    /// Others (for memory) may have none.
    private func isExit(_ place: Int) -> Bool {
        let fields = heap.layout.release.deoptimization
        guard let data = deoptimizationData, let count = heap.small(data, heap.layout.arrayLength),
            (1...Self.maximumDeoptimizationWords).contains(count),
            let words = heap.read((data &- V8Heap.strongTag) &+ heap.layout.arrayData, Int(count) * 8)
        else { return false }
        return stride(from: fields.firstExit + 2, to: Int(count), by: 3).contains { index in
            words.number(at: index * 8).flatMap(V8Heap.small).map(Int.init) == place
        }
    }

    /// The functions of a position: V8 stores where each was called in the enclosing one.
    private func levels(of entries: [V8Positions.Entry]) -> [Level]? {
        guard var source = entries.first?.source, entries.allSatisfy({ $0.source.inlining == source.inlining }) else {
            return nil
        }
        let offsets = entries.compactMap(\.source.offset)
        var positions: ClosedRange<Int>?
        if offsets.count == entries.count, let first = offsets.min(), let last = offsets.max() { positions = first...last }
        let fields = heap.layout.release
        guard let shared else { return nil }
        var levels: [Level] = []
        if source.inlining > 0 {
            guard let data = deoptimizationData, let literals = heap.element(data, fields.deoptimization.literals),
                heap.type(literals) == heap.layout.types.literals, let count = inlinedFunctions,
                let inliningTable = heap.element(data, fields.deoptimization.inliningPositions).flatMap(heap.table)
            else { return nil }
            while source.inlining > 0 {
                let place = (source.inlining - 1) * Self.inliningPositionBytes
                guard let outer: UInt64 = inliningTable.number(at: place), let index: Int32 = inliningTable.number(at: place + 8),
                    levels.count < Self.maximumInlining
                else { return nil }
                // -1: the function itself, called by itself.
                if index >= 0 {
                    guard Int(index) < count, let inlined = heap.element(literals, Int(index)) else { return nil }
                    levels.append(Level(shared: inlined & ~V8Heap.tagMask | V8Heap.strongTag, positions: positions))
                } else {
                    levels.append(Level(shared: shared, positions: positions))
                }
                let next = V8Positions.Source(raw: outer)
                // Each was inlined into what was there before.
                guard next.inlining < source.inlining else { return nil }
                source = next
                positions = next.offset.map { $0...$0 }
            }
        }
        levels.append(Level(shared: shared, positions: positions))
        return levels
    }
}
