internal import CLibunwind
internal import LagModel

/// Finds functions that the compiler has inlined into another one, in modules without lines, by the calls of both.
///
///     FUNC checksum_tile     global, so its code was kept; nothing refers to it:
///                                call adler32; jmp crc32
///     FUNC on_crc            … call adler32 ← the frame … call crc32 …
///
/// A global function of a program that nothing in it refers to, and that other modules cannot see, was inlined wherever it was
/// called. It was inlined into the function of a frame if it makes the frame's call, as often as that function does; if that
/// function makes all its other calls, too; and if no other function nearby does. Local functions leave no code of their own.
///
/// x86-64 alone. Reads all code of the module once.
struct InlinedCopies {
    private typealias Function = ObjectReferences.Function

    /// A module with more code is not read.
    private static let maximumCodeBytes: UInt64 = 8 << 20
    /// The same for what can contain pointers.
    private static let maximumDataBytes: UInt64 = 8 << 20
    /// Linkers place programs that can be loaded anywhere from 0.
    private static let firstFixedAddress: UInt64 = 1 << 20
    /// An object's code is together, and only in its own object a function is inlined.
    private static let maximumDistance: UInt64 = 1 << 16
    /// More are only there if functions overlap, which no compiler does.
    private static let maximumNearBytes: UInt64 = 1 << 20
    private static let maximumFunctionBytes: UInt64 = 1 << 14

    /// In ascending order.
    private let functions: [Function]
    /// The starts of those to which nothing refers.
    private let unreferenced: Set<UInt64>

    /// - Parameters:
    ///   - symbols: the file with the symbol table.
    ///   - code: the file with the code.
    init?(in symbols: borrowing ELFFile, table: ELFFile.Section, code: borrowing ELFFile) {
        guard code.isX86, code.isProgram else { return nil }
        var globals: Set<UInt64> = []
        symbols.forEachSymbol(of: table) { symbol in
            if symbol.isFunction, !symbol.isLocal, symbol.size > 0 { globals.insert(symbol.address) }
            return globals.count < ObjectReferences.maximumFunctions
        }
        for exported in code.sections where exported.type == ELFFile.SectionType.dynamicSymbols {
            code.forEachSymbol(of: exported) { symbol in
                globals.remove(symbol.address)
                return true
            }
        }
        functions = ObjectReferences.functions(in: symbols, table) { _ in true }.sorted { $0.address < $1.address }
        guard !globals.isEmpty, functions.count < ObjectReferences.maximumFunctions,
            let found = Self.unreferenced(globals, in: code)
        else { return nil }
        unreferenced = found
    }

    /// Those of `starts` that no operand and no pointer leads to; nil if there is too much to read.
    private static func unreferenced(_ starts: Set<UInt64>, in file: borrowing ELFFile) -> Set<UInt64>? {
        guard let first = starts.min(), let last = starts.max() else { return [] }
        var left = starts
        let loaded = file.sections.filter { $0.flags & 2 != 0 && $0.type != ELFFile.SectionType.noBits }
        guard loaded.filter(\.isCode).reduce(0, { $0.saturatingSum($1.size) }) <= maximumCodeBytes,
            loaded.filter({ !$0.isCode }).reduce(0, { $0.saturatingSum($1.size) }) <= maximumDataBytes
        else { return nil }
        for section in loaded where section.type != ELFFile.SectionType.dynamicSymbols {
            guard let read = file.source.bytes(at: section.offset, count: Int(section.size)) else { return nil }
            if section.isCode { left.subtract(ObjectReferences.targets(of: read, at: section.address)) }
            let bytes = LittleEndianBytes(read)
            // Pointers, also as addends of relocations; in code absolute operands, which programs at fixed addresses have.
            if section.isCode, first < firstFixedAddress { continue }
            let (step, size) = section.isCode ? (1, 4) : (8, 8)
            for place in stride(from: 0, through: bytes.count - size, by: step) {
                let value = section.isCode ? UInt64(bytes.u32(place)) : bytes.u64(place)
                if value >= first, value <= last { left.remove(value) }
            }
        }
        return left
    }

    /// Where the function begins that was inlined into the one at `start`, around the call that ends at `end`; nil if there is
    /// none, or if it is not certain.
    func copy(around end: UInt64, in start: UInt64, of file: borrowing ELFFile) -> UInt64? {
        guard !unreferenced.isEmpty, let function = functions.first(where: { $0.address == start }),
            let calls = Self.calls(of: function, in: file), let call = calls.first(where: { $0.end == end })?.target
        else { return nil }
        let targets = calls.map(\.target)
        let near = functions.filter {
            $0.address != start && max($0.address, start) - min($0.address, start) <= Self.maximumDistance
        }
        guard near.reduce(0, { $0.saturatingSum($1.size) }) <= Self.maximumNearBytes else { return nil }
        let copies = near.filter { function in
            guard unreferenced.contains(function.address), let own = Self.calls(of: function, in: file)?.map(\.target) else {
                return false
            }
            return own.allSatisfy(targets.contains) && own.contains(call)
                && own.count { $0 == call } == targets.count { $0 == call }
        }
        guard let copy = copies.first, copies.count == 1, let own = Self.calls(of: copy, in: file).map({ Set($0.map(\.target)) })
        else { return nil }
        var left = ObjectReferences.maximumBytes
        let others = near.filter { !unreferenced.contains($0.address) }
        for other in others where own.isSubset(of: ObjectReferences.targets(of: other, in: file, left: &left)) { return nil }
        return copy.address
    }

    /// Direct calls, and jumps to other functions; nil if an instruction is not known.
    private static func calls(of function: Function, in file: borrowing ELFFile) -> [(end: UInt64, target: UInt64)]? {
        guard function.size <= maximumFunctionBytes else { return nil }
        let code = file.code(at: function.address, count: Int(function.size))
        guard code.count == Int(function.size) else { return nil }
        return code.withUnsafeBufferPointer { bytes -> [(end: UInt64, target: UInt64)]? in
            guard let first = bytes.baseAddress else { return nil }
            var calls: [(end: UInt64, target: UInt64)] = []
            var place = 0
            while place < bytes.count {
                var step = clu_step()
                guard clu_code_step(first + place, bytes.count - place, &step) != 0, step.length > 0 else { return nil }
                let isCall = step.way == CLU_CALLS && bytes[place] == 0xe8 && step.length == 5
                place += Int(step.length)
                var distance = step.target
                if isCall {
                    let operand = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[place - 4 + $1]) << UInt32(8 * $1) }
                    distance = Int64(Int32(bitPattern: operand))
                } else if step.way != CLU_JUMPS && step.way != CLU_BRANCHES {
                    continue
                }
                let target = Int64(place) + distance
                guard isCall || target < 0 || target >= bytes.count else { continue }
                calls.append((function.address + UInt64(place), function.address &+ UInt64(bitPattern: target)))
            }
            return calls
        }
    }
}
