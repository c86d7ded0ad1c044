internal import LagModel

/// Go's table of functions, `.gopclntab`, the source of a program's own stack traces: it is in every build, even if stripped.
///
/// Format: `src/runtime/symtab.go`, `src/runtime/runtime2.go` (`_func`) and `src/debug/gosym/pclntab.go` of Go 1.18 and 1.20, which wrote their
/// numbers into its first word. It is read from the process's memory; every offset is a claim.
struct GoFunctionTable: Sendable {
    /// What changed between the releases.
    private struct Release {
        let magic: UInt32
        /// `_func` up to the offsets of its tables.
        let functionBytes: UInt64
        /// An entry of the tree of inlined calls, and the offsets of the name and the position of the call.
        let inlinedBytes, inlinedName, inlinedCall: UInt64
        /// `moduledata.gofunc`, the base of the trees.
        let treesField: UInt64
    }

    private static let releases = [
        Release(magic: 0xffff_fff0, functionBytes: 40, inlinedBytes: 20, inlinedName: 12, inlinedCall: 16, treesField: 304),
        Release(magic: 0xffff_fff1, functionBytes: 44, inlinedBytes: 16, inlinedName: 4, inlinedCall: 8, treesField: 320),
    ]

    private enum Limit {
        static let functions: UInt64 = 1 << 23
        static let nameBytes = 1024
        static let pathBytes = 4096
        /// The limit for one function's table: the largest functions have some thousand entries of two or three bytes.
        static let tableBytes = 128 * 1024
        static let pieceBytes = 256
        static let inlining = 32
    }

    /// Indices of the tables of a function (`src/runtime/symtab.go`).
    private enum Index {
        static let inlinedCalls: UInt32 = 2
        static let inliningTree: UInt32 = 3
    }

    struct Function: Sendable, Equatable {
        let entry: UInt64
        fileprivate let record: UInt64
    }

    /// A function at an address, and its line there; for an inlined one, the line within it.
    struct Level: Sendable, Equatable {
        let function: String
        let file: String?
        let line: Int?
    }

    private let memory: RemoteMemory
    private let release: Release
    /// The first instruction of Go's code.
    let text: UInt64
    /// The end of the code, according to the functions.
    let code: Range<UInt64>
    private let count: UInt64
    private let quantum: UInt64
    private let names, files, fileIndices, tables, functions: UInt64
    /// The base of the trees of inlined calls.
    private let trees: UInt64
    /// `moduledata.text`.
    private static let textField: UInt64 = 176

    /// Nil if there is no such table.
    /// - Parameter moduleData: the address of the `moduledata`, which begins with the address of the table.
    init?(_ memory: RemoteMemory, moduleData: UInt64) {
        guard let start: UInt64 = memory.load(moduleData), let header = memory.bytes(start, 72),
            let magic: UInt32 = header.number(at: 0),
            let release = Self.releases.first(where: { $0.magic == magic }), header[4] == 0, header[5] == 0,
            // Instruction units are bytes or words; pointers have eight bytes.
            [1, 2, 4].contains(header[6]), header[7] == 8,
            let count: UInt64 = header.number(at: 8), count > 0, count <= Limit.functions,
            let text: UInt64 = header.number(at: 24), let names: UInt64 = header.number(at: 32),
            // Both contain the start of the code and of the names.
            memory.load(moduleData &+ 8, as: UInt64.self) == start &+ names,
            memory.load(moduleData &+ Self.textField, as: UInt64.self) == text,
            let rodata: UInt64 = memory.load(moduleData &+ release.treesField &- 8),
            let trees: UInt64 = memory.load(moduleData &+ release.treesField), trees >= rodata, rodata != 0
        else { return nil }
        func place(_ offset: Int) -> UInt64 { start &+ (header.number(at: offset, as: UInt64.self) ?? 0) }
        self.memory = memory
        self.release = release
        self.count = count
        self.text = text
        self.names = place(32)
        self.trees = trees
        quantum = UInt64(header[6])
        fileIndices = place(40)
        files = place(48)
        tables = place(56)
        functions = place(64)
        // After the last function there is one more entry: the end of the code.
        guard let end: UInt32 = memory.load(place(64) &+ count &* 8) else { return nil }
        code = text..<text.saturatingSum(UInt64(end))
    }

    /// The function that contains an address; nil if that is not Go's code.
    func function(at address: UInt64) -> Function? {
        guard code.contains(address) else { return nil }
        let wanted = UInt32(address - text)
        func entry(_ index: UInt64) -> UInt32? { memory.load(functions &+ index &* 8) }
        guard let first = entry(0), wanted >= first else { return nil }
        var (low, high) = (UInt64(0), count)
        while high - low > 1 {
            let middle = (low + high) / 2
            guard let offset = entry(middle) else { return nil }
            if offset <= wanted { low = middle } else { high = middle }
        }
        guard let offset = entry(low), let place: UInt32 = memory.load(functions &+ low &* 8 &+ 4) else { return nil }
        let record = functions &+ UInt64(place)
        // The record contains the function's start, too.
        guard memory.load(record, as: UInt32.self) == offset else { return nil }
        return Function(entry: text &+ UInt64(offset), record: record)
    }

    /// How far the stack pointer is below the return address there; nil: not known.
    func frameBytes(_ function: Function, at address: UInt64) -> UInt64? {
        guard let offset = field(function, 16), let value = value(offset, function, at: address), value >= 0 else { return nil }
        return UInt64(value)
    }

    func name(_ function: Function) -> String? {
        guard let offset: Int32 = memory.load(function.record &+ 4) else { return nil }
        return name(at: offset)
    }

    private func name(at offset: Int32) -> String? {
        guard offset > 0 else { return nil }
        guard let text = memory.text(names &+ UInt64(offset), limit: Limit.nameBytes), !text.isEmpty,
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0xfffd })
        else { return nil }
        return text
    }

    /// The functions at an address, the innermost inlined one first; nil if one of them is not known.
    func levels(_ function: Function, at address: UInt64) -> [Level]? {
        var levels: [Level] = []
        var address = address
        for _ in 0..<Limit.inlining {
            guard let index = inlinedCall(function, at: address) else {
                guard let name = name(function) else { return nil }
                levels.append(level(name, function, at: address))
                return levels
            }
            guard let tree = tree(function) else { return nil }
            let entry = trees &+ UInt64(tree) &+ UInt64(index) &* release.inlinedBytes
            guard let offset: Int32 = memory.load(entry &+ release.inlinedName), let name = name(at: offset),
                let call: Int32 = memory.load(entry &+ release.inlinedCall), call >= 0
            else { return nil }
            levels.append(level(name, function, at: address))
            address = function.entry &+ UInt64(call)
        }
        return nil
    }

    private func level(_ name: String, _ function: Function, at address: UInt64) -> Level {
        let line = field(function, 24).flatMap { value($0, function, at: address) }
        return Level(function: name, file: file(function, at: address), line: line.flatMap { $0 > 0 ? Int($0) : nil })
    }

    private func file(_ function: Function, at address: UInt64) -> String? {
        guard let table = field(function, 20), let number = value(table, function, at: address), number >= 0,
            let unit: UInt32 = memory.load(function.record &+ 32),
            let offset: UInt32 = memory.load(fileIndices &+ (UInt64(unit) &+ UInt64(number)) &* 4), offset != .max
        else { return nil }
        let text = memory.text(files &+ UInt64(offset), limit: Limit.pathBytes)
        return text.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The inlined call that contains the address; nil: none.
    private func inlinedCall(_ function: Function, at address: UInt64) -> Int32? {
        guard let count = field(function, 28), count > Index.inlinedCalls,
            let offset: UInt32 = memory.load(function.record &+ release.functionBytes &+ UInt64(Index.inlinedCalls) &* 4),
            offset != 0,
            let index = value(offset, function, at: address), index >= 0
        else { return nil }
        return index
    }

    private func tree(_ function: Function) -> UInt32? {
        guard let tables = field(function, 28), tables < 64,
            let count: UInt8 = memory.load(function.record &+ release.functionBytes &- 1), UInt32(count) > Index.inliningTree,
            let offset: UInt32 = memory.load(
                function.record &+ release.functionBytes &+ (UInt64(tables) &+ UInt64(Index.inliningTree)) &* 4
            ), offset != .max
        else { return nil }
        return offset
    }

    private func field(_ function: Function, _ offset: UInt64) -> UInt32? { memory.load(function.record &+ offset) }

    /// A table's value at an address: pairs of deltas, of the value and of the code, with seven bits per byte.
    private func value(_ table: UInt32, _ function: Function, at address: UInt64) -> Int32? {
        guard table != 0 else { return nil }
        var bytes: [UInt8] = []
        var place = 0
        func next() -> UInt32? {
            var value: UInt32 = 0
            for shift in stride(from: UInt32(0), to: 35, by: 7) {
                if place == bytes.count {
                    guard bytes.count < Limit.tableBytes else { return nil }
                    // In pieces that end with a page, because the next one may not be mapped.
                    let from = tables &+ UInt64(table) &+ UInt64(place)
                    guard let piece = memory.bytes(from, min(Limit.pieceBytes, Int(4096 - from % 4096))) else { return nil }
                    bytes += piece
                }
                let byte = bytes[place]
                place += 1
                value |= UInt32(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return value }
            }
            return nil
        }
        var value: Int32 = -1
        var code = function.entry
        var isFirst = true
        while let difference = next() {
            if difference == 0, !isFirst { return nil }
            isFirst = false
            value &+= Int32(bitPattern: difference >> 1) ^ -Int32(bitPattern: difference & 1)
            guard let length = next() else { return nil }
            code &+= UInt64(length) &* quantum
            if address < code { return value }
        }
        return nil
    }
}
