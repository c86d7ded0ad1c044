internal import LagModel

/// The parts of an ELF file that symbols need: sections and the build-id. 64-bit little-endian only (x86-64, aarch64).
///
/// Formats: System V ABI, chapters 4 and 5 ("Object Files", "Program Loading"), and elf(5). The file may be anything, truncated
/// or hostile: every offset and count is checked and every list is bounded.
struct ELFFile: ~Copyable {
    struct Section {
        /// The offset of its name in the table of section names.
        let nameOffset: UInt32
        let type: UInt32
        let flags: UInt64
        let address: UInt64
        let offset: UInt64
        let size: UInt64
        let link: UInt32
        let entrySize: UInt64

        /// Whether it contains machine code (`SHF_EXECINSTR`).
        var isCode: Bool { flags & 4 != 0 }

        /// Whether the loaded section contains `address`.
        func contains(_ address: UInt64) -> Bool { address >= self.address && address - self.address < size }
    }

    /// Values of elf(5).
    enum SectionType {
        static let symbolTable: UInt32 = 2
        static let note: UInt32 = 7
        /// It takes no space in the file.
        static let noBits: UInt32 = 8
        static let dynamicSymbols: UInt32 = 11
    }

    private enum Layout {
        static let headerBytes = 64
        static let sectionHeaderBytes = 64
        static let programHeaderBytes = 56
        static let noteSegment: UInt32 = 4
        static let buildIDNote: UInt32 = 3
    }

    /// More sections than this are not read: the largest Swift binaries have some hundred.
    private static let maximumSections = 65_536
    /// Linkers write some ten sections with code. Each function's is searched, so with more than this none is.
    private static let maximumCodeSections = 256
    /// Notes are short; a longer range is not searched.
    private static let maximumNoteBytes: UInt64 = 65_536
    /// Linkers write two or three. A file may declare as many as it has headers, all of that length.
    private static let maximumNotes = 64
    /// NAME_MAX of Linux, and the data after the name.
    private static let maximumFileNameBytes: UInt64 = 264
    private static let maximumNameTableBytes: UInt64 = 1 << 20
    /// The limit of a section's name; without it, damage could make every name as long as the table.
    private static let maximumNameBytes = 64

    let source: ByteSource
    let sections: [Section]
    /// The indices of the sections with machine code that is in this file.
    private let codeSections: [Int]
    /// The index of the section with the sections' names.
    private let namesIndex: Int
    /// Lower-case hex; nil if the file has none.
    let buildID: String?
    /// The entry point of a program; 0: it is not a program.
    private let entry: UInt64
    /// Whether its code is x86-64's.
    let isX86: Bool
    /// Whether it is aarch64's.
    let isARM64: Bool

    /// Nil if `source` is not an ELF file of the supported kind.
    init?(_ source: consuming ByteSource) {
        guard let header = source.bytes(at: 0, count: Layout.headerBytes).map(LittleEndianBytes.init) else { return nil }
        // Magic, 64-bit, little-endian.
        guard header.u32(0) == 0x464c_457f, header.u8(4) == 2, header.u8(5) == 1 else { return nil }
        let sections = Self.readSections(source, header)
        self.buildID = Self.readBuildID(source, header, sections)
        self.sections = sections
        let codeSections = sections.indices.filter { sections[$0].isCode && sections[$0].type != SectionType.noBits }
        self.codeSections = codeSections.count <= Self.maximumCodeSections ? codeSections : []
        self.namesIndex = Int(header.u16(62))
        self.entry = header.u64(24)
        self.isX86 = header.u16(18) == 62
        self.isARM64 = header.u16(18) == 183
        self.source = source
    }

    /// The index of the section with the loaded code at `address`; nil if the file does not have it (a separate debug file has
    /// none).
    func codeSection(at address: UInt64) -> Int? { codeSections.first { sections[$0].contains(address) } }

    /// The names of all sections; none if their table is damaged or longer than any linker writes.
    func sectionNames() -> Set<String> { Set(namedSections().map(\.name)) }

    /// The sections with one of these names.
    func sections(named names: Set<String>) -> [Section] {
        namedSections().compactMap { names.contains($0.name) ? $0.section : nil }
    }

    /// Whether it is a program that needs no loader. (The loader itself is one.)
    var isStaticProgram: Bool { entry != 0 && sections(named: [".interp"]).isEmpty }

    /// Whether it names a loader, or needs none.
    var isProgram: Bool { entry != 0 }

    /// The name in `.gnu_debuglink` of the file with its debug information (GDB's manual, "Separate Debug Files"); without a
    /// folder.
    var debugFileName: String? {
        guard let section = sections(named: [".gnu_debuglink"]).first,
            let bytes = source.bytes(at: section.offset, count: Int(clamping: min(section.size, Self.maximumFileNameBytes)))
        else { return nil }
        let name = bytes.prefix { $0 != 0 }
        return name.isEmpty || name.contains(UInt8(ascii: "/")) ? nil : String(decoding: name, as: UTF8.self)
    }

    private func namedSections() -> [(name: String, section: Section)] {
        guard namesIndex < sections.count, sections[namesIndex].size <= Self.maximumNameTableBytes else { return [] }
        let place = sections[namesIndex]
        guard let table = source.bytes(at: place.offset, count: Int(place.size)) else { return [] }
        return sections.compactMap { section in
            let start = Int(section.nameOffset)
            guard start < table.count else { return nil }
            return (String(decoding: table[start...].prefix(Self.maximumNameBytes).prefix { $0 != 0 }, as: UTF8.self), section)
        }
    }

    private static func readSections(_ source: borrowing ByteSource, _ header: LittleEndianBytes) -> [Section] {
        let offset = header.u64(40)
        let entryBytes = Int(header.u16(58))
        var count = Int(header.u16(60))
        guard offset > 0, entryBytes == Layout.sectionHeaderBytes else { return [] }
        if count == 0 {
            // More than 65,279 sections: the count is in the first section's size.
            guard let first = source.bytes(at: offset, count: Layout.sectionHeaderBytes) else { return [] }
            count = Int(clamping: LittleEndianBytes(first).u64(32))
        }
        guard count <= maximumSections else { return [] }
        guard let table = source.bytes(at: offset, count: count * entryBytes).map(LittleEndianBytes.init) else { return [] }
        return (0..<count).map { index in
            let base = index * entryBytes
            return Section(
                nameOffset: table.u32(base),
                type: table.u32(base + 4),
                flags: table.u64(base + 8),
                address: table.u64(base + 16),
                offset: table.u64(base + 24),
                size: table.u64(base + 32),
                link: table.u32(base + 40),
                entrySize: table.u64(base + 56)
            )
        }
    }

    private static func readBuildID(
        _ source: borrowing ByteSource,
        _ header: LittleEndianBytes,
        _ sections: [Section]
    ) -> String? {
        // Sections first: in a separate debug file the segments' offsets are not valid.
        for section in sections.lazy.filter({ $0.type == SectionType.note }).prefix(maximumNotes) {
            if let id = buildID(in: source, at: section.offset, size: section.size) { return id }
        }
        let offset = header.u64(32)
        let entryBytes = Int(header.u16(54))
        let count = Int(header.u16(56))
        guard offset > 0, entryBytes == Layout.programHeaderBytes else { return nil }
        guard let table = source.bytes(at: offset, count: count * entryBytes).map(LittleEndianBytes.init) else { return nil }
        let places = (0..<count).lazy.map { $0 * entryBytes }.filter { table.u32($0) == Layout.noteSegment }
        for base in places.prefix(maximumNotes) {
            if let id = buildID(in: source, at: table.u64(base + 8), size: table.u64(base + 32)) { return id }
        }
        return nil
    }

    private static func buildID(in source: borrowing ByteSource, at offset: UInt64, size: UInt64) -> String? {
        guard size <= maximumNoteBytes, let notes = source.bytes(at: offset, count: Int(size)).map(LittleEndianBytes.init)
        else { return nil }
        var position = 0
        while position + 12 <= notes.count {
            let nameBytes = Int(notes.u32(position))
            let contentBytes = Int(notes.u32(position + 4))
            let type = notes.u32(position + 8)
            // Both are padded to four bytes; both come from 32 bits, so the sums cannot overflow.
            let content = position + 12 + (nameBytes + 3) / 4 * 4
            let next = content + (contentBytes + 3) / 4 * 4
            guard content + contentBytes <= notes.count else { return nil }
            if type == Layout.buildIDNote, nameBytes == 4, notes.u32(position + 12) == 0x0055_4e47 {
                return Hexadecimal.text(notes.bytes[content..<content + contentBytes])
            }
            position = next
        }
        return nil
    }
}
