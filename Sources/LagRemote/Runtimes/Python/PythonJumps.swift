/// Decodes the jumps in the code of CPython's functions.
///
/// An instruction may be followed by data (inline caches), which must not be read as instructions. Source: `_PyOpcode_Caches` and
/// `_PyOpcode_Deopt` of CPython 3.11.7, 3.12.1 and 3.13.0 (Include/internal/pycore_opcode.h, pycore_opcode_metadata.h).
struct PythonJumps: Sendable {
    /// The units of data after each instruction, by number; nil: not an instruction, or one that replaces another
    /// (`INSTRUMENTED_LINE`, `ENTER_EXECUTOR`).
    private let caches: [Int?]
    private let kinds: [Kind]

    private enum Kind: Sendable {
        case plain
        /// The high bits of the next instruction's argument.
        case highBits
        case forward
        case forwardIf
        case backward
        case backwardIf
        /// The function ends, or raises an exception.
        case end
        /// Where an exception is handled, if the version has all such code at the end of the function.
        case handler
    }

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
            kinds = Self.kinds([
                (.highBits, [34, 144]), (.forward, [110]), (.forwardIf, [93, 111, 112, 114, 115, 123, 128, 129]),
                (.backward, [38, 134, 140]), (.backwardIf, [173, 174, 175, 176]), (.end, [83, 119, 130]),
            ])
        case 12:
            caches = Self.digits(
                """
                000000111010011010111113310033000030003333333333300000003111101111110090990099999990000000\
                0011040000000000910004440040000011000000000000000001000000400004000001110000111xx300000
                """
            )
            kinds = Self.kinds([
                (.highBits, [144]), (.forward, [110]), (.forwardIf, [62, 63, 64, 65, 93, 114, 115, 123, 128, 129, 168]),
                (.backward, [134, 140]), (.end, [3, 83, 119, 121, 130]), (.handler, [35, 55]),
            ])
        case 13:
            caches = Self.digits(
                """
                0001010000000000000000000000000000000001300001000000030000110000000000x0100001000090000000\
                04010001111000100040000000010xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx0111111111111333333333333333333\
                3311111111199999999999944110144411333333111
                """
            )
            kinds = Self.kinds([
                (.highBits, [71]), (.forward, [79]), (.forwardIf, [72, 97, 98, 99, 100, 104, 187, 188, 189, 190, 208]),
                (.backward, [77, 78]), (.end, [22, 36, 101, 102, 103]), (.handler, [8, 33]),
            ])
        default: return nil
        }
    }

    private static func digits(_ text: String) -> [Int?] { text.map(\.hexDigitValue) }

    private static func kinds(_ listed: [(Kind, [Int])]) -> [Kind] {
        var kinds = [Kind](repeating: .plain, count: 256)
        for (kind, numbers) in listed { for number in numbers { kinds[number] = kind } }
        return kinds
    }

    /// - Parameters:
    ///   - code: all instructions of the function.
    ///   - steps: how many are left (``PythonFlow/mostSteps``).
    /// - Returns: nil: not known.
    func flow(_ code: [UInt8], within steps: inout Int) -> PythonFlow? {
        // Each of its units has two bytes, and is decoded and verified.
        steps -= code.count
        guard steps >= 0 else { return nil }
        var flow = PythonFlow(units: code.count / 2)
        var (index, begin, argument, isHandled) = (0, 0, 0, false)
        while index * 2 + 1 < code.count {
            let (instruction, low) = (code[index * 2], Int(code[index * 2 + 1]))
            guard Int(instruction) < caches.count, let cached = caches[Int(instruction)] else { return nil }
            argument = (argument << 8 | low) & 0xffff_ffff
            let kind = kinds[Int(instruction)]
            let next = index + 1 + cached
            // From 3.12 on, jumps there lead back to code before and after a loop.
            isHandled = isHandled || kind == .handler
            index = next
            guard kind != .highBits else { continue }
            let target: Int? =
                switch kind {
                case .forward, .forwardIf: next + argument
                case .backward, .backwardIf: next - argument
                case .plain, .highBits, .end, .handler: nil
                }
            let continues = kind != .forward && kind != .backward && kind != .end
            flow.add(begin..<next, jumpsTo: target, continues: continues, isHandled: isHandled)
            (begin, argument) = (next, 0)
        }
        return flow.isValid ? flow : nil
    }
}
