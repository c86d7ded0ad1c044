/// Finds the loops in the code of CPython's functions.
///
/// An instruction may be followed by data (inline caches), which must not be read as instructions. Source: `_PyOpcode_Caches` and
/// `_PyOpcode_Deopt` of CPython 3.11.7, 3.12.1 and 3.13.0 (Include/internal/pycore_opcode.h, pycore_opcode_metadata.h).
struct PythonJumps: Sendable {
    /// The units of data after each instruction, by number; nil: not an instruction, or one that replaces another
    /// (`INSTRUMENTED_LINE`, `ENTER_EXECUTOR`).
    private let caches: [Int?]
    private let backward: Set<UInt8>
    private let extendedArguments: Set<UInt8>

    /// - Returns: nil: this version's instructions are not known.
    init?(minor: Int) {
        switch minor {
        case 11:
            caches = Self.digits(
                """
                00011111100001101444444444222200000000044444000550000005aaaa10aa11110000110011111100000000\
                0010040000000000420000010050000110000100000000000001010000000004400044a0000010111400000111\
                1
                """
            )
            (backward, extendedArguments) = ([38, 140, 173, 174, 175, 176], [34, 144])
        case 12:
            caches = Self.digits(
                """
                000000111010011010111113310033000030003333333333300000003111101111110090990099999990000000\
                0011040000000000910004440040000011000000000000000001000000400004000001110000111xx300000
                """
            )
            (backward, extendedArguments) = ([140], [144])
        case 13:
            caches = Self.digits(
                """
                0001010000000000000000000000000000000001300001000000030000110000000000x0100001000090000000\
                04010001111000100040000000010xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx0111111111111333333333333333333\
                3311111111199999999999944110144411333333111
                """
            )
            (backward, extendedArguments) = ([77], [71])
        default: return nil
        }
    }

    private static func digits(_ text: String) -> [Int?] { text.map(\.hexDigitValue) }

    /// Whether a jump leads from behind both instructions to the earlier one or before it: then both are in one loop.
    /// - Parameters:
    ///   - code: all instructions of the function.
    ///   - one: an instruction's index.
    func haveLoop(_ code: [UInt8], around one: Int, _ other: Int) -> Bool {
        let (first, last) = (min(one, other), max(one, other))
        var (index, argument) = (0, 0)
        while index * 2 + 1 < code.count {
            let (instruction, low) = (code[index * 2], Int(code[index * 2 + 1]))
            guard Int(instruction) < caches.count, let cached = caches[Int(instruction)] else { return false }
            argument = (argument << 8 | low) & 0xffff_ffff
            guard !extendedArguments.contains(instruction) else {
                index += 1
                continue
            }
            let next = index + 1 + cached
            if index > last, backward.contains(instruction), next - argument <= first { return true }
            (index, argument) = (next, 0)
        }
        return false
    }
}
