internal import Glibc

/// How an ELF file is loaded, from its header and program headers.
///
/// Format: `elf(5)`; `Elf64_Ehdr` (64 bytes) and `Elf64_Phdr` (56 bytes), little-endian here.
struct ElfHeader {
    /// 64-bit, and for this machine's processor.
    let isOfThisMachine: Bool
    /// The dynamic loader (`PT_INTERP`); `nil`: the program is statically linked.
    let loader: String?

    #if arch(x86_64)
        private static let machine: UInt16 = 62
    #elseif arch(arm64)
        private static let machine: UInt16 = 183
    #else
        private static let machine: UInt16 = 0
    #endif
    private static let interpreterType: UInt32 = 3

    /// `nil` if the file cannot be read or is not an ELF file.
    init?(path: String) {
        guard let start = ProgramFile.readStart(of: path, atMost: 64), start.count == 64,
            start.starts(with: [0x7f, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")])
        else { return nil }
        let isWide = start[4] == 2 && start[5] == 1
        isOfThisMachine = isWide && UInt16(Self.number(start, at: 18, bytes: 2)) == Self.machine
        guard isOfThisMachine else {
            loader = nil
            return
        }
        let offset = Self.number(start, at: 32, bytes: 8)
        let size = Int(Self.number(start, at: 54, bytes: 2))
        let count = Int(Self.number(start, at: 56, bytes: 2))
        guard size >= 56, offset < 1 << 40,
            let headers = ProgramFile.readStart(of: path, at: Int(offset), atMost: size * min(count, 128))
        else { return nil }
        loader =
            stride(from: 0, to: headers.count - 55, by: size).lazy
            .filter { UInt32(Self.number(headers, at: $0, bytes: 4)) == Self.interpreterType }
            .compactMap {
                Self.text(
                    path,
                    at: Self.number(headers, at: $0 + 8, bytes: 8),
                    bytes: Self.number(headers, at: $0 + 32, bytes: 8)
                )
            }
            .first
    }

    private static func number(_ bytes: [UInt8], at offset: Int, bytes count: Int) -> UInt64 {
        bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func text(_ path: String, at offset: UInt64, bytes: UInt64) -> String? {
        guard offset < 1 << 40, bytes > 0, bytes < 4096 else { return nil }
        return ProgramFile.readStart(of: path, at: Int(offset), atMost: Int(bytes)).map {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
