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
/// functions' references (``ObjectReferences``) and the objects' ends (``ObjectBoundaries``) decide. gold and lld write no
/// names of such objects, so these are separated first (``LocalSymbols``). The assemblers of some sources write no names either
/// (newer GNU ld writes the object's name there). Swift's compiler writes its object's name itself, `Cart.swift.o`.
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

    /// In ascending order; each extends to the next one.
    private var stretches: [Stretch]

    /// Reads the table's local symbols and the names of object files: some milliseconds for a hundred thousand symbols. If there
    /// are packaged objects, or the linker does not write their names, it also reads the global symbols, the unwind entries, and
    /// the code of the functions between own and packaged objects.
    /// - Parameter code: the file with the code; `file` is the same, or its separate debug file.
    /// - Returns: nil if the file contains no packaged object, or cannot be read to its end.
    init?(in file: borrowing ELFFile, table: ELFFile.Section, code: borrowing ELFFile) {
        let linker = Linker(of: code)
        guard var locals = LocalSymbols(in: file, table: table),
            locals.origins.contains(linker == .gnu ? .packaged : .own)
        else { return nil }
        let references = linker == .gnu ? nil : locals.references(in: file, table, code)
        guard linker == .gnu || references != nil else { return nil }
        let boundaries = ObjectBoundaries(in: code, by: linker)
        if let references { locals.separate(in: file, table: table, by: linker, references, at: boundaries) }
        guard locals.origins.contains(.packaged) else { return nil }
        let (origins, unnamed) = (locals.origins, locals.unnamed)
        var anchors = locals.symbols.compactMap { symbol in
            symbol.isFunction
                ? symbol.object.map { Anchor(address: symbol.address, file: $0, section: symbol.section) } : nil
        }
        stretches = Self.stretches(of: anchors, origins, unnamed: unnamed)
        anchors +=
            ObjectReferences(in: file, table: table, code: code, locals: locals) { [stretches] in
                Self.origin(of: $0, stretches) == .between
            }.anchors
        let neighbours = Self.neighbours(of: anchors, origins, boundaries, code, unnamed: unnamed)
        anchors += neighbours.anchors
        stretches = Self.stretches(of: anchors, origins, unnamed: unnamed, areAllLocated: neighbours.areAllLocated)
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

    /// How many own objects without a known function come directly after an own one and before all packaged ones; nil if one may
    /// be elsewhere.
    private static func ownObjects(after first: Int, before last: Int, _ origins: [CodeOrigin], _ unlocated: [Int]) -> Int? {
        let all = unlocated[origins.count]
        guard all > 0 else { return 0 }
        guard first < last, unlocated[last] - unlocated[first + 1] == all else { return nil }
        let packaged = origins[(first + 1)...].firstIndex(of: .packaged) ?? last
        return unlocated[min(packaged, last)] - unlocated[first + 1] == all ? all : nil
    }

    /// Functions of the same objects as the known ones beside them, and whether each own object without a known function is
    /// beside another own one.
    private static func neighbours(
        of anchors: [Anchor],
        _ origins: [CodeOrigin],
        _ boundaries: ObjectBoundaries,
        _ code: borrowing ELFFile,
        unnamed: Int?
    ) -> (anchors: [Anchor], areAllLocated: Bool) {
        let functions = boundaries.functions
        guard !functions.isEmpty else { return ([], false) }
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
        var areAllLocated = false
        let unlocated = unlocated(anchors, origins, unnamed: unnamed)
        for place in functions.indices where boundaries.areOfObjects {
            guard let file = files[place] else { continue }
            defer { last = place }
            guard let last, let lastFile = files[last] else { continue }
            let between = last..<place
            switch (origins[lastFile], origins[file]) {
            case (.own, .packaged):
                let ends = between.filter { functions[$0].end == .isLast }
                guard let count = ownObjects(after: lastFile, before: file, origins, unlocated) else { break }
                areAllLocated = true
                if ends.count > count {
                    for index in between where index > ends[count] { files[index] = file }
                }
            case (.packaged, .own) where unlocated.last == 0:
                if let end = between.last(where: { functions[$0].end == .isLast }) {
                    for index in between where index <= end { files[index] = lastFile }
                }
            default: break
            }
        }
        let found = functions.indices.compactMap { place -> Anchor? in
            guard let file = files[place], known[functions[place].address] == nil,
                let section = code.codeSection(at: functions[place].address)
            else { return nil }
            return Anchor(address: functions[place].address, file: file, section: UInt16(clamping: section))
        }
        return (found, areAllLocated)
    }

    /// - Parameters:
    ///   - anchors: in any order.
    ///   - unnamed: the last object, if it has no name.
    ///   - areAllLocated: own objects without an anchor are beside others.
    private static func stretches(
        of anchors: [Anchor],
        _ origins: [CodeOrigin],
        unnamed: Int?,
        areAllLocated: Bool = false
    ) -> [Stretch] {
        let anchors = anchors.sorted { $0.address < $1.address }
        let unlocated = unlocated(anchors, origins, unnamed: unnamed)
        func arePackaged(from first: Int, to last: Int) -> Bool { areAllLocated || unlocated[first] == unlocated[last] }

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
                // An own object without a known function may be at a section's end.
                case (.packaged, _?) where next?.section != anchor.section:
                    arePackaged(from: 0, to: origins.count) ? .packaged : .between
                // The files are in the order of their first sections: rarely executed code comes before all other.
                case (.packaged, .packaged?):
                    next.map { arePackaged(from: min($0.file, anchor.file), to: max($0.file, anchor.file)) } == true
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
