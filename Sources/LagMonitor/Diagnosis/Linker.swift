/// The program that linked a file, as far as its traces matter: what it writes about objects without a name, and between
/// sections of code.
enum Linker {
    /// GNU ld, or any other that is not known: writes the objects' own names, and keeps the padding of unwind entries. (mold
    /// writes none, but makes global functions local, so references show nothing about their objects.)
    case gnu
    /// Fills the space between sections with `int3`; compilers fill that between functions with `nop`.
    case lld
    /// Fills the space with one long `nop`; GNU's assembler uses none of more than 11 bytes.
    case gold

    /// In the text that compilers and linkers leave in `.comment`.
    private static let lldMark = Array("Linker: LLD".utf8)
    /// Its assembler uses the same long `nop`s as gold.
    private static let clangMark = Array("clang".utf8)
    private static let goldSection = ".note.gnu.gold-version"
    private static let maximumCommentBytes: UInt64 = 1 << 16

    /// - Parameter file: the file with the code.
    init(of file: borrowing ELFFile) {
        self = .gnu
        guard file.isX86 else { return }
        let sections = file.sections(named: [".comment"])
        let comment = sections.first.flatMap {
            file.source.bytes(at: $0.offset, count: Int(min($0.size, Self.maximumCommentBytes)))
        }
        if let comment, !comment.ranges(of: Self.lldMark).isEmpty {
            self = .lld
        } else if !file.sections(named: [Self.goldSection]).isEmpty, comment?.ranges(of: Self.clangMark).isEmpty == true {
            self = .gold
        }
    }

    /// What the bytes between two functions show.
    func end(padding: [UInt8]) -> ObjectBoundaries.End {
        switch self {
        case .gnu: return .isOpen
        case .lld:
            guard !padding.isEmpty else { return .isOpen }
            if padding.allSatisfy({ $0 == 0xcc }) { return .isLast }
            return Self.nops(padding) == nil ? .isOpen : .goesOn
        case .gold:
            guard padding.count > Self.longestAssemblerNop, let nops = Self.nops(padding) else { return .isOpen }
            if nops.contains(where: { $0 > Self.longestAssemblerNop }) { return .isLast }
            return padding.count <= Self.longestFunctionPadding ? .goesOn : .isOpen
        }
    }

    private static let longestAssemblerNop = 11
    /// Functions begin at multiples of 16. More is the padding of several sections, the last of which are empty.
    private static let longestFunctionPadding = 15

    /// The lengths of the `nop` instructions that the bytes are; nil if there are others (Intel's manual, volume 2, "NOP").
    private static func nops(_ bytes: [UInt8]) -> [Int]? {
        var lengths: [Int] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let start = rest.startIndex
            rest = rest.drop { $0 == 0x66 || $0 == 0x2e }
            var operand = 0
            switch (rest.first, rest.dropFirst().first) {
            case (0x90, _): operand = 1
            case (0x0f, 0x1f):
                // The ModRM byte, and what follows it.
                switch rest.dropFirst(2).first {
                case 0x00: operand = 3
                case 0x40: operand = 4
                case 0x44: operand = 5
                case 0x80: operand = 7
                case 0x84: operand = 8
                default: return nil
                }
            default: return nil
            }
            guard rest.count >= operand else { return nil }
            rest = rest.dropFirst(operand)
            lengths.append(rest.startIndex - start)
        }
        return lengths
    }
}
