internal import LagModel

extension LocalSymbols {
    /// What separates objects: references between functions and local symbols.
    struct References {
        /// For each function, in their order: its address, its place among the symbols if it is local, and the places that it
        /// refers to.
        var functions: [(address: UInt64, place: Int?, places: [Int])] = []

        func functions(in range: ClosedRange<UInt64>) -> Range<Int> {
            func first(from address: UInt64) -> Int {
                var (low, high) = (0, functions.count)
                while low < high {
                    let middle = (low + high) / 2
                    if functions[middle].address < address { low = middle + 1 } else { high = middle }
                }
                return low
            }
            return first(from: range.lowerBound)..<first(from: range.upperBound.saturatingSum(1))
        }
    }

    /// Separates the own objects from packaged ones that follow without a name, as gold and lld write them:
    ///
    ///     FILE shop.c
    ///     FUNC checkout          0x1100
    ///     OBJECT total           0x4000
    ///     FUNC refund            0x1140, the last one before the linker's padding
    ///     FUNC longest_match     0x1200: of an object without a name
    ///
    /// An object's symbols are together, and so is its code. The first function is of the named object, and so is the code in the
    /// same section; what refers to the same local symbols; and each symbol before one of these. What is behind the end of the
    /// last one's section, and not among these symbols, is of another object.
    ///
    /// Objects that were compiled with `-ffunction-sections` stay as they are: each of their functions has a section.
    /// What gold writes last may be of any object: all functions that were global until then (hidden ones) are there.
    mutating func separate(
        in file: borrowing ELFFile,
        table: ELFFile.Section,
        by linker: Linker,
        _ references: References,
        at boundaries: ObjectBoundaries
    ) {
        let areInitialisers = symbols.map { symbol in
            symbol.isFunction && symbol.object.map { origins[$0] } == .own
                && ObjectName.isInitialiser(file.name(at: symbol.nameOffset, in: table))
        }
        let (areNamed, lastFunctions) = named(by: references, boundaries, areInitialisers)
        var separated: [CodeOrigin] = []
        var hasOwn = false
        var start = 0
        for (object, origin) in origins.enumerated() {
            // A number for the object, and one for those without a name.
            separated += [origin, .unknown]
            if origin == .own { hasOwn = true }
            var end = start
            while end < symbols.count, symbols[end].object == object { end += 1 }
            defer { start = end }
            let places = start..<end
            if origin == .unknown, hasOwn {
                // The start-up code behind all others has no functions.
                if linker == .lld { separated[2 * object + 1] = .packaged }
                for place in places { symbols[place].object = linker == .lld ? 2 * object + 1 : nil }
                continue
            }
            if linker == .gold, object == origins.count - 1 {
                let named = places.last { areNamed[$0] } ?? -1
                for place in places { symbols[place].object = place <= named ? 2 * object : nil }
                continue
            }
            for place in places { symbols[place].object = 2 * object }
            guard let last = places.last(where: { areNamed[$0] }),
                let section = lastFunctions[object].flatMap({ boundaries.section(around: $0) }),
                let next = places[(last + 1)...].first(where: {
                    // An initialiser of the same object is elsewhere.
                    symbols[$0].isFunction && symbols[$0].address > section.functions.upperBound && !areInitialisers[$0]
                })
            else { continue }
            separated[2 * object + 1] = .packaged
            for place in (last + 1)..<end {
                symbols[place].object = place < next || areInitialisers[place] ? nil : 2 * object + 1
            }
        }
        origins = separated
        unnamed = unnamed.map { 2 * $0 }
    }

    /// Reads the functions' code once. Nil if there is too much.
    func references(in file: borrowing ELFFile, _ table: ELFFile.Section, _ code: borrowing ELFFile) -> References? {
        let functions = ObjectReferences.functions(in: file, table) { _ in true }.sorted { $0.address < $1.address }
        guard functions.count < ObjectReferences.maximumFunctions else { return nil }
        let places = referable(in: file, table: table)
        var references = References()
        var left = ObjectReferences.maximumBytes
        for function in functions {
            let targets = ObjectReferences.targets(of: function, in: code, left: &left)
            guard left > 0 else { return nil }
            let found = targets.compactMap { places[$0] }
            let place = places[function.address].flatMap { symbols[$0].isFunction ? $0 : nil }
            references.functions.append((function.address, place, found))
        }
        return references
    }

    /// Which symbols are of the named objects, and by object the address of the last function that is.
    private func named(
        by references: References,
        _ boundaries: ObjectBoundaries,
        _ areInitialisers: [Bool]
    ) -> (symbols: [Bool], lastFunctions: [UInt64?]) {
        var areNamed = [Bool](repeating: false, count: symbols.count)
        var isKnown = [Bool](repeating: false, count: references.functions.count)
        var lastFunctions = [UInt64?](repeating: nil, count: origins.count)
        var found: [Int] = []
        func name(_ place: Int, of object: Int) {
            guard !areNamed[place], symbols[place].object == object else { return }
            areNamed[place] = true
            found.append(place)
            guard symbols[place].isFunction else { return }
            lastFunctions[object] = max(lastFunctions[object] ?? 0, symbols[place].address)
        }
        func know(_ index: Int, of object: Int) {
            let function = references.functions[index]
            guard !isKnown[index], function.place.map({ symbols[$0].object == object }) ?? true else { return }
            isKnown[index] = true
            lastFunctions[object] = max(lastFunctions[object] ?? 0, function.address)
            for place in function.places + [function.place].compactMap({ $0 }) { name(place, of: object) }
        }
        var section: ObjectBoundaries.Section?
        var object: Int?
        // A section is of one object.
        var joined: Set<UInt64> = []
        for (place, symbol) in symbols.enumerated() where symbol.isFunction {
            if let new = symbol.object, new != object, !areInitialisers[place] {
                object = new
                section = origins[new] == .own ? boundaries.section(around: symbol.address) : nil
                if section?.hasSeveralFunctions == false { section = nil }
                if let section, joined.insert(section.joined.lowerBound).inserted {
                    for index in references.functions(in: section.joined) { know(index, of: new) }
                }
            }
            if let object, section?.joined.contains(symbol.address) == true { name(place, of: object) }
        }
        // For each place: the functions that refer to it, and the one that is there.
        var functionsByPlace = [[Int]](repeating: [], count: symbols.count)
        for (index, function) in references.functions.enumerated() {
            for place in function.places { functionsByPlace[place].append(index) }
        }
        for (index, function) in references.functions.enumerated() {
            if let place = function.place { functionsByPlace[place].append(index) }
        }
        while let place = found.popLast() {
            guard let object = symbols[place].object else { continue }
            for index in functionsByPlace[place] { know(index, of: object) }
        }
        return (areNamed, lastFunctions)
    }
}
