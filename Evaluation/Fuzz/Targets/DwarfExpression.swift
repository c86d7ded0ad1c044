internal import TestSupport

/// Expressions in the unwind tables of a library (DWARF 5, 2.5): random combinations of jumps, stack operations, memory accesses
/// and arithmetic.
enum DwarfExpression {
    /// Replaces the unwind instructions of a function with an expression for its frame or for a saved register.
    /// - Returns: the function's address, if the library is mapped as in its file; nil: the library has no table.
    static func put(into file: inout [UInt8], _ generator: inout SeededGenerator) -> UInt64? {
        guard let header = tableHeader(file), let count = word(file, header + 8), count > 0 else { return nil }
        let entry = header + 12 + generator.below(min(Int(count), 100_000)) * 8
        guard let function = word(file, entry), let rule = word(file, entry + 4) else { return nil }
        let start = header + Int(Int32(bitPattern: rule))
        guard start >= 0, let length = word(file, start), length < 1 << 16 else { return nil }
        // The position after the length, the CIE pointer, the function's range (as linkers write it), and an empty augmentation.
        let instructions = start + 17
        let end = min(start + 4 + Int(length), file.count)
        guard instructions + 3 < end else { return nil }
        // DW_CFA_def_cfa_expression; DW_CFA_expression and DW_CFA_val_expression of a register.
        var bytes: [UInt8] = [[0x0f], [0x10, UInt8(generator.below(18))], [0x16, UInt8(generator.below(18))]][generator.below(3)]
        let room = end - instructions - bytes.count - 1
        guard room > 0 else { return nil }
        var operations: [UInt8] = []
        while operations.count < min(room, 1 + generator.below(40)) { operations += operation(&generator) }
        operations = Array(operations.prefix(min(room, 127)))
        bytes += [UInt8(operations.count)] + operations
        file.replaceSubrange(instructions..<(instructions + bytes.count), with: bytes)
        let place = header + Int(Int32(bitPattern: function))
        return place >= 0 && place < file.count ? UInt64(place) : nil
    }

    private static func operation(_ generator: inout SeededGenerator) -> [UInt8] {
        let byte = UInt8(truncatingIfNeeded: generator.next())
        let distance = UInt16(bitPattern: Int16(generator.below(24) - 16))
        switch generator.below(8) {
        // DW_OP_skip, DW_OP_bra.
        case 0: return [0x2f, UInt8(truncatingIfNeeded: distance), UInt8(truncatingIfNeeded: distance >> 8)]
        case 1: return [0x28, UInt8(truncatingIfNeeded: distance), UInt8(truncatingIfNeeded: distance >> 8)]
        // DW_OP_lit, DW_OP_breg.
        case 2: return [0x30 + byte % 32]
        case 3: return [0x70 + byte % 32, UInt8(generator.below(128))]
        // DW_OP_deref, dup, drop, over, swap, rot; arithmetic and comparison.
        case 4: return [[0x06, 0x12, 0x13, 0x14, 0x16, 0x17][generator.below(6)]]
        case 5: return [0x19 + byte % 0x16]
        // DW_OP_const1u, pick, deref_size.
        case 6: return [[0x08, 0x15, 0x94][generator.below(3)], byte]
        default: return [byte]
        }
    }

    /// The offset of .eh_frame_hdr in the file, from the program headers. Its offsets are relative to that.
    private static func tableHeader(_ file: [UInt8]) -> Int? {
        guard let headers = word(file, 32), let counts = word(file, 56) else { return nil }
        for number in 0..<min(Int(counts & 0xffff), 64) {
            let header = Int(headers) + number * 56
            guard let type = word(file, header), let offset = word(file, header + 8) else { return nil }
            // PT_GNU_EH_FRAME; version 1 and the usual encodings.
            if type == 0x6474_e550, word(file, Int(offset)) == 0x3b03_1b01 { return Int(offset) }
        }
        return nil
    }

    private static func word(_ file: [UInt8], _ offset: Int) -> UInt32? {
        guard offset >= 0, offset + 4 <= file.count else { return nil }
        return (0..<4).reduce(0) { $0 | UInt32(file[offset + $1]) << (8 * UInt32($1)) }
    }
}
