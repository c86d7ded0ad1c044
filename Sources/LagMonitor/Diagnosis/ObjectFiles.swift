internal import LagModel

/// Finds the functions of a file that come from the object files of packaged libraries (`libz.a`) that were linked into it.
///
/// Compilers write the source's name into an object file (`STT_FILE` in elf(5)). Distributions strip the objects of their static
/// libraries (Debian's `dh_strip`, Fedora's `brp-strip-static-archive`: `strip -g`), which removes that name with the debug
/// information. GNU ld then writes the object's own name:
///
///     FILE shop.c        compiled for this program
///     FUNC checkout
///     FILE deflate.o     from a package
///     FUNC longest_match
///
/// The name precedes an object's local functions. Global functions have no such name, but linkers lay out code in the order of
/// the objects, so code between the local functions of packaged objects is packaged. Between own and packaged code, the
/// functions' references (``ObjectReferences``) and the objects' ends (``ObjectBoundaries``) decide. gold and lld write no such
/// names; the assemblers of some sources write none either (newer GNU ld writes the object's name there). Swift's compiler writes
/// its object's name itself, `Cart.swift.o`.
struct ObjectFiles {
    /// A function, and the number of the object file that it comes from.
    struct Anchor {
        let address: UInt64
        let file: Int
        let section: UInt16
    }

    private struct Stretch {
        let start: UInt64
        let origin: CodeOrigin
    }

    /// A table with more local functions, or with more objects, is not read: the largest browsers have some hundred thousand.
    private static let maximumAnchors = 1 << 20
    private static let maximumObjects = 1 << 18
    /// Suffixes of archive members from make, libtool, ICU, SCons and CMake on other systems.
    private static let objectSuffixes = [".o", ".ao", ".lo", ".os", ".obj"]
    private static let swiftSuffixes = [".swift.o", ".swiftmodule.o"]
    /// Objects of the linker's own optimiser, which combine all sources.
    private static let optimisedObjects: Set<String> = ["ld-temp.o", "lto.o"]
    /// Start-up code, which is linked around everything.
    private static let startUpObjects: Set<String> = [
        "crtstuff.c", "crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "grcrt1.o", "crti.o", "crtn.o",
    ]
    private static let haskellSuffix = Array("_info".utf8)
    /// How many local symbols of an object are examined for its language.
    private static let maximumLooks = 8

    /// In ascending order; each extends to the next one.
    private var stretches: [Stretch]

    /// Reads the table's local symbols and the names of object files: some milliseconds for a hundred thousand symbols. If there
    /// are packaged objects, it also reads the global symbols, the unwind entries, and the code of the functions between own and
    /// packaged objects.
    /// - Parameter code: the file with the code; `file` is the same, or its separate debug file.
    /// - Returns: nil if the file contains no packaged object, or cannot be read to its end.
    init?(in file: borrowing ELFFile, table: ELFFile.Section, code: borrowing ELFFile) {
        var origins: [CodeOrigin] = []
        var looks = 0
        var anchors: [Anchor] = []
        var isUnnamed = false
        let isRead = file.forEachSymbol(of: table) { symbol in
            // All local symbols come first (System V ABI, "Symbol Table").
            guard symbol.isLocal, anchors.count < Self.maximumAnchors, origins.count < Self.maximumObjects else { return false }
            if symbol.isFile {
                let name = file.name(of: symbol, in: table)
                isUnnamed = name.isEmpty
                origins.append(Self.origin(ofObject: String(decoding: name, as: UTF8.self)))
                looks = 0
            } else if let origin = origins.last, symbol.isInSection {
                if symbol.isFunction {
                    anchors.append(Anchor(address: symbol.address, file: origins.count - 1, section: symbol.section))
                }
                guard origin == .packaged, looks < Self.maximumLooks else { return true }
                looks += 1
                if Self.lacksSource(file.name(of: symbol, in: table)) { origins[origins.count - 1] = .own }
            }
            return true
        }
        guard isRead, anchors.count < Self.maximumAnchors, origins.count < Self.maximumObjects, origins.contains(.packaged) else {
            return nil
        }
        // gcc's whole-program optimiser creates objects without a name; after the last one come functions that were global in any
        // object.
        let unnamed = isUnnamed ? origins.count - 1 : nil
        if let unnamed { anchors.removeAll { $0.file == unnamed } }
        stretches = Self.stretches(of: anchors, origins, unnamed: unnamed)
        anchors +=
            ObjectReferences(in: file, table: table, code: code, known: anchors, origins: origins, unnamed: unnamed) {
                [stretches] in Self.origin(of: $0, stretches) == .between
            }.anchors
        anchors += Self.neighbours(of: anchors, origins, ObjectBoundaries(in: code).functions, code, unnamed: unnamed)
        stretches = Self.stretches(of: anchors, origins, unnamed: unnamed)
    }

    /// The origin of a function that begins at `address`.
    func origin(of address: UInt64) -> CodeOrigin { Self.origin(of: address, stretches) }

    private static func origin(of address: UInt64, _ stretches: [Stretch]) -> CodeOrigin {
        var (low, high) = (0, stretches.count)
        while low < high {
            let middle = (low + high) / 2
            if stretches[middle].start <= address { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? stretches[low - 1].origin : .unknown
    }

    /// Whether a name may belong to a language whose compilers write the source's name: those of OCaml, Swift and some of D's and
    /// Rust's do not always.
    static func saysOrigin(of rawName: String) -> Bool {
        rawName != "main" && !["$s", "$S", "_$s", "caml", "_D", "_R"].contains(where: rawName.hasPrefix)
    }

    /// Whether a function belongs to a language whose compiler writes no source name: Swift, Haskell.
    private static func lacksSource(_ name: [UInt8]) -> Bool {
        if name.starts(with: "$s".utf8) || name.starts(with: "$S".utf8) { return true }
        // GHC's own names are a letter and a number in base 62, `r3Ab_info`; a C function may be called `file_info`.
        let unique = name.dropLast(haskellSuffix.count)
        guard (3...8).contains(unique.count), name.suffix(haskellSuffix.count).elementsEqual(haskellSuffix) else { return false }
        let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
        return unique.allSatisfy { $0 != UInt8(ascii: "_") } && unique.contains { !lower.contains($0) }
    }

    private static func origin(ofObject name: String) -> CodeOrigin {
        // With its folder: an object that was linked directly, not a member of an archive.
        let baseName = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[name.index(after: $0)...]) }
        if startUpObjects.contains(baseName ?? name) { return .unknown }
        if baseName != nil || swiftSuffixes.contains(where: name.hasSuffix) { return .own }
        return objectSuffixes.contains(where: name.hasSuffix) && !optimisedObjects.contains(name) ? .packaged : .own
    }

    /// How many own objects before each one, and before the end, have no function with a known place.
    private static func unlocated(_ anchors: [Anchor], _ origins: [CodeOrigin], unnamed: Int?) -> [Int] {
        var isLocated = [Bool](repeating: false, count: origins.count)
        for anchor in anchors { isLocated[anchor.file] = true }
        if let unnamed { isLocated[unnamed] = true }
        var counts = [0]
        for (file, origin) in origins.enumerated() {
            counts.append(counts[file] + (origin == .own && !isLocated[file] ? 1 : 0))
        }
        return counts
    }

    /// Functions of the same objects as the known ones beside them.
    private static func neighbours(
        of anchors: [Anchor],
        _ origins: [CodeOrigin],
        _ functions: [ObjectBoundaries.Function],
        _ code: borrowing ELFFile,
        unnamed: Int?
    ) -> [Anchor] {
        guard !functions.isEmpty else { return [] }
        let known = Dictionary(anchors.map { ($0.address, $0.file) }) { first, _ in first }
        var files = functions.map { known[$0.address] }
        for next in functions.indices.dropFirst() where files[next] == nil && functions[next - 1].end == .goesOn {
            files[next] = files[next - 1]
        }
        for place in functions.indices.dropLast().reversed() where files[place] == nil && functions[place].end == .goesOn {
            files[place] = files[place + 1]
        }
        // If each own object is known, what follows the last one's end is packaged, and so is what ends before one begins.
        var last: Int?
        let areOwnLocated = unlocated(anchors, origins, unnamed: unnamed).last == 0
        for place in functions.indices where areOwnLocated {
            guard let file = files[place] else { continue }
            defer { last = place }
            guard let last, let lastFile = files[last] else { continue }
            let between = last..<place
            switch (origins[lastFile], origins[file]) {
            case (.own, .packaged):
                if let end = between.first(where: { functions[$0].end == .isLast }) {
                    for index in between where index > end { files[index] = file }
                }
            case (.packaged, .own):
                if let end = between.last(where: { functions[$0].end == .isLast }) {
                    for index in between where index <= end { files[index] = lastFile }
                }
            default: break
            }
        }
        return functions.indices.compactMap { place in
            guard let file = files[place], known[functions[place].address] == nil,
                let section = code.codeSection(at: functions[place].address)
            else { return nil }
            return Anchor(address: functions[place].address, file: file, section: UInt16(clamping: section))
        }
    }

    /// - Parameters:
    ///   - anchors: in any order.
    ///   - unnamed: the last object, if it has no name.
    private static func stretches(of anchors: [Anchor], _ origins: [CodeOrigin], unnamed: Int?) -> [Stretch] {
        let anchors = anchors.sorted { $0.address < $1.address }
        let unlocated = unlocated(anchors, origins, unnamed: unnamed)
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
                    // The files are in the order of their first sections: rarely executed code comes before all other. Others may
                    // be at a section's end.
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
}
