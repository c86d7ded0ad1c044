/// V8's tables from code to source: numbers of seven bits a byte (`src/base/vlq.h`).
enum V8Positions {
    /// A place in a script, and in which inlined function (`src/codegen/source-position.h`).
    struct Source: Sendable, Equatable {
        let raw: UInt64

        /// Whether it is in a file of a builtin, not in a script of the program.
        var isExternal: Bool { raw & 1 != 0 }
        /// Counted from 0; nil: not known.
        var offset: Int? {
            let stored = raw >> 1 & 0x3fff_ffff
            return isExternal || stored == 0 ? nil : Int(stored) - 1
        }
        /// 0: not inlined; else one more than an index into the inlining positions.
        var inlining: Int { Int(raw >> 31 & 0xffff) }
    }

    /// The number at `place`, which is advanced; nil at the end, or if it has too many bits.
    static func unsigned(_ table: [UInt8], _ place: inout Int) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard place < table.count else { return nil }
            let byte = table[place]
            place += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    private static func signed(_ table: [UInt8], _ place: inout Int) -> Int64? {
        unsigned(table, &place).map { Int64(bitPattern: $0 >> 1) ^ -Int64($0 & 1) }
    }

    /// What a table has from a place in the code on.
    struct Entry: Sendable {
        let code: Int
        let source: Source
    }

    /// What a source position table (`src/codegen/source-position-table.cc`) has for a place in the code: the entry at it, or the last one
    /// before.
    static func source(_ table: [UInt8], at codeOffset: Int) -> Source? {
        entries(table)?.last { $0.code <= codeOffset }?.source
    }

    /// A source position table, in the order of the code; nil if it is damaged. Pairs of differences: the code offset, whose sign
    /// says whether a statement begins there, and the source position.
    static func entries(_ table: [UInt8]) -> [Entry]? {
        var place = 0
        // kFunctionEntryBytecodeOffset.
        var code: Int64 = -1
        var source: Int64 = 0
        var entries: [Entry] = []
        while let difference = signed(table, &place) {
            code &+= difference >= 0 ? difference : -(difference &+ 1)
            guard let step = signed(table, &place), let offset = Int(exactly: code), offset >= entries.last?.code ?? -1 else {
                return nil
            }
            source &+= step
            entries.append(Entry(code: offset, source: Source(raw: UInt64(bitPattern: source))))
        }
        return place == table.count ? entries : nil
    }

    /// The bytecode whose machine code holds a place in baseline code (`src/baseline/bytecode-offset-iterator.h`). The table has the length of
    /// each bytecode's machine code, after that of the prologue.
    /// - Parameters:
    ///   - sizes: of each bytecode with its operands, for single, double and quadruple width one after another (`Bytecodes::kBytecodeSizes`).
    static func bytecodeOffset(_ table: [UInt8], _ bytecodes: [UInt8], sizes: [UInt8], at codeOffset: UInt64) -> Int? {
        var place = 0
        var offset = 0
        guard var code = unsigned(table, &place) else { return nil }
        // In the prologue: the function's first bytecode.
        var found = codeOffset < code ? 0 : nil
        while place < table.count {
            guard let length = unsigned(table, &place), let size = bytecodeSize(bytecodes, at: offset, sizes: sizes) else {
                return nil
            }
            code = code.addingReportingOverflow(length).partialValue
            if found == nil, codeOffset < code { found = offset }
            offset += size
        }
        // Otherwise it is another V8 version's bytecode.
        return offset == bytecodes.count ? found : nil
    }

    private static func bytecodeSize(_ bytecodes: [UInt8], at offset: Int, sizes: [UInt8]) -> Int? {
        let count = sizes.count / 3
        guard offset < bytecodes.count else { return nil }
        var opcode = Int(bytecodes[offset])
        var (prefix, scale) = (0, 0)
        // Wide, ExtraWide, and the same with a breakpoint: the first four opcodes of every release.
        if opcode < 4 {
            guard offset + 1 < bytecodes.count else { return nil }
            (prefix, scale) = (1, opcode % 2 + 1)
            opcode = Int(bytecodes[offset + 1])
        }
        guard opcode < count else { return nil }
        let size = Int(sizes[scale * count + opcode])
        return size > 0 ? prefix + size : nil
    }
}
