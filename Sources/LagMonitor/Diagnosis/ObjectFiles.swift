internal import LagModel

/// Which of a file's functions come from the object files of packaged libraries (`libz.a`) that were linked into it.
///
/// Compilers put the source's name into an object file (`STT_FILE` in elf(5)). Distributions strip the objects of their static libraries (Debian's `dh_strip`,
/// Fedora's `brp-strip-static-archive`: `strip -g`), and with the debug information that name goes, too. GNU ld then writes the object's own name:
///
///     FILE shop.c        compiled for this program
///     FUNC checkout
///     FILE deflate.o     from a package
///     FUNC longest_match
///
/// The name stands before an object's local functions. Its global ones come without: linkers lay out code in the order of the objects, so what lies between the
/// local functions of packaged ones is packaged. gold and lld write no such names, nor do assemblers of some sources (newer GNU ld writes the object's there); Swift's compiler
/// writes its object's name itself, `Cart.swift.o`.
struct ObjectFiles {
    private struct Anchor {
        let address: UInt64
        let file: Int
        let section: UInt16
    }

    private struct Stretch {
        let start: UInt64
        let origin: CodeOrigin
    }

    private enum Symbol {
        static let bytes = 24
        static let function: UInt8 = 2
        static let file: UInt8 = 4
        static let indirectFunction: UInt8 = 10
        static let undefinedSection: UInt16 = 0
    }

    private static let symbolsAPiece = 4096
    /// A table of more local functions, or of more objects, is not read: the largest browsers have some hundred thousand.
    private static let maximumAnchors = 1 << 20
    private static let maximumObjects = 1 << 18
    /// The longest names are whole paths.
    private static let maximumNameBytes: UInt64 = 512
    /// What archives' members are called by make, libtool, ICU, SCons and CMake on other systems.
    private static let objectSuffixes = [".o", ".ao", ".lo", ".os", ".obj"]
    private static let swiftSuffixes = [".swift.o", ".swiftmodule.o"]
    /// Objects of the linker's own optimiser, which are of all sources.
    private static let optimisedObjects: Set<String> = ["ld-temp.o", "lto.o"]
    /// Start-up code, which is linked around everything.
    private static let startUpObjects: Set<String> = [
        "crtstuff.c", "crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "grcrt1.o", "crti.o", "crtn.o",
    ]
    /// How many local symbols of an object are looked at for its language.
    private static let maximumLooks = 8

    /// In ascending order; each reaches to the next one.
    private let stretches: [Stretch]

    /// Reads the table's local symbols, and the names of object files: some milliseconds for a hundred thousand symbols.
    /// - Returns: nil where no packaged object is in it, or it cannot be read to its end.
    init?(in file: borrowing ELFFile, table: ELFFile.Section) {
        guard table.entrySize == UInt64(Symbol.bytes), table.link < file.sections.count else { return nil }
        let strings = file.sections[Int(table.link)]
        guard Self.namesPackaged(in: file, table, strings) else { return nil }
        var origins: [CodeOrigin] = []
        var looks: [Int] = []
        var anchors: [Anchor] = []
        var current: Int?
        var isUnnamed = false
        // What the file is too short for is not there.
        let available = min(table.size, file.source.size.saturatingDifference(table.offset))
        let count = Int(clamping: available / UInt64(Symbol.bytes))
        search: for index in stride(from: 0, to: count, by: Self.symbolsAPiece) {
            let size = min(Self.symbolsAPiece, count - index) * Symbol.bytes
            guard let bytes = file.source.bytes(at: table.offset + UInt64(index * Symbol.bytes), count: size) else { return nil }
            let piece = LittleEndianBytes(bytes)
            for base in stride(from: 0, to: size, by: Symbol.bytes) {
                let info = piece.u8(base + 4)
                // All local symbols come first (System V ABI, "Symbol Table").
                guard info >> 4 == 0 else { break search }
                guard anchors.count < Self.maximumAnchors, origins.count < Self.maximumObjects else { return nil }
                let kind = info & 0xf
                if kind == Symbol.file {
                    let name = Self.name(at: piece.u32(base), file, strings)
                    current = origins.count
                    isUnnamed = name.isEmpty
                    origins.append(Self.origin(ofObject: String(decoding: name, as: UTF8.self)))
                    looks.append(0)
                    continue
                }
                let section = piece.u16(base + 6)
                guard let current, section != Symbol.undefinedSection else { continue }
                if kind == Symbol.function || kind == Symbol.indirectFunction {
                    anchors.append(Anchor(address: piece.u64(base + 8), file: current, section: section))
                }
                guard origins[current] == .packaged, looks[current] < Self.maximumLooks else { continue }
                looks[current] += 1
                if Self.lacksSource(Self.name(at: piece.u32(base), file, strings)) { origins[current] = .own }
            }
        }
        guard origins.contains(.packaged) else { return nil }
        // gcc's optimiser of whole programs makes objects without a name; behind the last one are functions that were global in any object.
        if isUnnamed, let current { anchors.removeAll { $0.file == current } }
        anchors.sort { $0.address < $1.address }
        stretches = Self.stretches(of: anchors, origins, isUnnamed: isUnnamed)
    }

    /// Whether an object is named as a packaged one is. Most programs have none, and then nothing else of the table is read.
    private static func namesPackaged(in file: borrowing ELFFile, _ table: ELFFile.Section, _ strings: ELFFile.Section) -> Bool {
        let available = min(table.size, file.source.size.saturatingDifference(table.offset))
        let count = Int(clamping: available / UInt64(Symbol.bytes))
        var objects = 0
        for index in stride(from: 0, to: count, by: symbolsAPiece) {
            let size = min(symbolsAPiece, count - index) * Symbol.bytes
            guard let bytes = file.source.bytes(at: table.offset + UInt64(index * Symbol.bytes), count: size) else {
                return false
            }
            var base = 0
            while base < size {
                let info = bytes[base + 4]
                guard info >> 4 == 0, objects < maximumObjects else { return false }
                if info & 0xf == Symbol.file {
                    objects += 1
                    let name = Self.name(at: LittleEndianBytes(bytes).u32(base), file, strings)
                    if origin(ofObject: String(decoding: name, as: UTF8.self)) == .packaged { return true }
                }
                base += Symbol.bytes
            }
        }
        return false
    }

    /// Where a function comes from that begins at `address`.
    func origin(of address: UInt64) -> CodeOrigin {
        var (low, high) = (0, stretches.count)
        while low < high {
            let middle = (low + high) / 2
            if stretches[middle].start <= address { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? stretches[low - 1].origin : .unknown
    }

    /// Whether a name may be of a language whose compilers write the source's name: those of OCaml, Swift and some of D's and Rust's do not always.
    static func saysOrigin(of rawName: String) -> Bool {
        rawName != "main" && !["$s", "$S", "_$s", "caml", "_D", "_R"].contains(where: rawName.hasPrefix)
    }

    /// Whether a function is of a language whose compiler writes no source's name: Swift's, Haskell's.
    private static func lacksSource(_ name: [UInt8]) -> Bool {
        name.starts(with: "$s".utf8) || name.starts(with: "$S".utf8) || name.suffix(5).elementsEqual("_info".utf8)
    }

    private static func origin(ofObject name: String) -> CodeOrigin {
        // With its folder: one that was linked by itself, and no member of an archive.
        let baseName = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[name.index(after: $0)...]) }
        if startUpObjects.contains(baseName ?? name) { return .unknown }
        if baseName != nil || swiftSuffixes.contains(where: name.hasSuffix) { return .own }
        return objectSuffixes.contains(where: name.hasSuffix) && !optimisedObjects.contains(name) ? .packaged : .own
    }

    /// - Parameter isUnnamed: whether the last object has no name.
    private static func stretches(of anchors: [Anchor], _ origins: [CodeOrigin], isUnnamed: Bool) -> [Stretch] {
        // Of objects without local functions only their place in the order is known.
        var isLocated = [Bool](repeating: false, count: origins.count)
        for anchor in anchors { isLocated[anchor.file] = true }
        if isUnnamed { isLocated[origins.count - 1] = true }
        var unlocated = [0]
        for (file, origin) in origins.enumerated() {
            unlocated.append(unlocated[file] + (origin == .own && !isLocated[file] ? 1 : 0))
        }
        func arePackaged(from first: Int, to last: Int) -> Bool { unlocated[first] == unlocated[last] }

        var stretches: [Stretch] = []
        func append(_ origin: CodeOrigin, from start: UInt64) {
            if stretches.last?.start == start { stretches.removeLast() }
            if stretches.last?.origin != origin { stretches.append(Stretch(start: start, origin: origin)) }
        }
        for (index, anchor) in anchors.enumerated() {
            let origin = origins[anchor.file]
            append(origin, from: anchor.address)
            let next = index + 1 < anchors.count ? anchors[index + 1] : nil
            let gap: CodeOrigin =
                switch (origin, next.map { origins[$0.file] }) {
                case (.packaged, .packaged?):
                    // The files' order is that of their first sections: code that is seldom run comes before all other. At a section's end others may lie.
                    next.map {
                        $0.section == anchor.section
                            && arePackaged(from: min($0.file, anchor.file), to: max($0.file, anchor.file))
                    } == true
                        ? .packaged : .between
                case (.packaged, nil): arePackaged(from: anchor.file, to: origins.count) ? .packaged : .between
                case (.own, .own?), (.own, nil), (.unknown, .own?): .own
                default: .between
                }
            append(gap, from: anchor.address.saturatingSum(1))
        }
        return stretches
    }

    private static func name(
        at offset: UInt32,
        _ file: borrowing ELFFile,
        _ strings: ELFFile.Section
    ) -> [UInt8] {
        let (place, overflow) = strings.offset.addingReportingOverflow(UInt64(offset))
        let rest = min(
            strings.size.saturatingDifference(UInt64(offset)),
            file.source.size.saturatingDifference(place),
            maximumNameBytes
        )
        guard !overflow, let bytes = file.source.bytes(at: place, count: Int(rest)) else { return [] }
        return Array(bytes.prefix { $0 != 0 })
    }
}
