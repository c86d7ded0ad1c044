internal import LagModel

extension Symbolizer {
    /// What a call instruction leads to.
    enum Call {
        case function(start: UInt64)
        case pointer

        var start: UInt64? {
            if case .function(let start) = self { start } else { nil }
        }
    }

    /// The calls that end at `returns`, by their last byte; none of a pointer that the loader has filled in.
    static func calls(before returns: Set<UInt64>, in file: borrowing ELFFile) -> [UInt64: Call] {
        guard file.isX86 || file.isARM64 else { return [:] }
        var calls: [UInt64: Call] = [:]
        for last in returns where last >= 5 { calls[last] = file.isX86 ? callOfX86(last, file) : callOfARM64(last, file) }
        return calls
    }

    /// `e8` and the distance. All others are of a pointer: `ff 15` and a distance of one in the file, mostly an imported
    /// function's.
    private static func callOfX86(_ last: UInt64, _ file: borrowing ELFFile) -> Call? {
        let code = LittleEndianBytes(file.code(at: last - 5, count: 6))
        guard code.count == 6 else { return nil }
        if code.u8(1) == 0xe8 {
            return .function(start: last &+ 1 &+ UInt64(bitPattern: Int64(Int32(bitPattern: code.u32(2)))))
        }
        return code.u8(0) == 0xff && code.u8(1) == 0x15 ? nil : .pointer
    }

    /// `bl`, with the distance in instructions in its lower 26 bits; `blr` and its variants (`blraa`, …).
    private static func callOfARM64(_ last: UInt64, _ file: borrowing ELFFile) -> Call? {
        let code = LittleEndianBytes(file.code(at: last - 3, count: 4))
        guard code.count == 4 else { return nil }
        let word = code.u32(0)
        if word & 0xfc00_0000 == 0x9400_0000 {
            return .function(start: (last - 3) &+ UInt64(bitPattern: Int64(Int32(bitPattern: word << 6) >> 4)))
        }
        return word & 0xfeff_f000 == 0xd63f_0000 ? .pointer : nil
    }
}
