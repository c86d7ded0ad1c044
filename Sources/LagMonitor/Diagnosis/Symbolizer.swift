internal import LagModel

/// Names for addresses, from the symbol tables of the modules' own files. **For the reporter thread only**: it opens files
/// and allocates.
///
/// A name is never invented: the file must have the requested build-id; a missing, replaced or damaged file gives none. If the
/// query's build-id is empty, the path alone is trusted, unless the kernel marks it as deleted. If this process's own program was
/// deleted or replaced, it is found by its build-id.
///
/// No table is kept. A batch costs one pass over each module's symbols for all new addresses (about 20 ns a symbol). Answers are
/// cached by (build-id or path, address), at most ``cacheLimit`` of them and ``cacheBytes``; the least recently used are evicted
/// first. "No symbol" is cached, too, except for files that could not be opened.
///
/// If the file has no `.symtab` (it is stripped), a separate debug file of the same build-id is looked up
/// (`.build-id/xx/yyyy.debug`, the layout of GDB's manual, "Separate Debug Files"); otherwise `.dynsym` is used.
package struct Symbolizer: Sendable {
    /// The maximum number of cached answers.
    package static let cacheLimit = 8192
    /// Their memory, including keys and the tables' spare space.
    package static let cacheBytes = 4 << 20
    /// Where Debian's packages put debug files.
    package static let debugRoot = "/usr/lib/debug"

    private struct Entry: SymbolCacheValue {
        /// Nil: this address has no symbol.
        var symbol: ResolvedSymbol?

        var heapBytes: Int { symbol.map(Self.heapBytes) ?? 0 }

        private static func heapBytes(_ symbol: ResolvedSymbol) -> Int {
            symbol.name.heapBytes + symbol.simplified.heapBytes + (symbol.mangled?.heapBytes ?? 0)
                + symbol.callees.reduce(0) { $0 + MemoryLayout<ResolvedSymbol>.stride + heapBytes($1) }
        }
    }

    private typealias Key = SymbolCache<Entry>.Key

    private let demangler = Demangler()
    let files: SymbolFiles
    private var cache: SymbolCache<Entry>
    private var replaced = ReplacedFiles()
    /// Other code that is linked into a module.
    private struct LinkedCode {
        /// In a program without a loader.
        var cLibrary: StaticLibrary?
        var objects: ObjectFiles?
        /// Nil until a name needs it, which is the case only in some languages.
        var languages: [CompiledLibraries]?
    }
    /// For the modules of past queries.
    private var linkedCode: [SymbolFiles.Module: LinkedCode] = [:]
    private static let maximumLinkedCode = 256
    /// The number of passes over symbol tables; shows tests that the cache works.
    package private(set) var tablePasses = 0

    /// Looks up the demanglers, which takes the loader's lock: create it at start.
    package init() { self.init(debugRoots: [Self.debugRoot]) }

    /// - Parameters:
    ///   - debugRoot: where `.build-id` directories are.
    ///   - cacheLimit: how many answers are cached; at least 2.
    package init(debugRoot: String, cacheLimit: Int = Symbolizer.cacheLimit) {
        self.init(debugRoots: [debugRoot], cacheLimit: cacheLimit)
    }

    /// - Parameters:
    ///   - debugRoots: where `.build-id` directories are, in search order.
    ///   - cacheLimit: how many answers are cached; at least 2.
    package init(debugRoots: [String], cacheLimit: Int = Symbolizer.cacheLimit) {
        self.init(files: SymbolFiles(debugRoots: debugRoots), cacheLimit: cacheLimit)
    }

    package init(files: SymbolFiles, cacheLimit: Int = Symbolizer.cacheLimit) {
        self.files = files
        cache = SymbolCache(byteLimit: Self.cacheBytes, countLimit: cacheLimit)
    }

    /// How many answers are cached now.
    package var cachedCount: Int { cache.count }

    /// The answers in the order of the queries; nil if there is no symbol.
    package mutating func resolve(_ queries: [SymbolQuery]) -> [ResolvedSymbol?] {
        if replaced.contains(oneOf: queries, files) {
            cache.removeAll()
            linkedCode = [:]
        }
        var unknown: [SymbolFiles.Module: Set<UInt64>] = [:]
        var returns: [SymbolFiles.Module: Set<UInt64>] = [:]
        var answers: [Key: Entry] = [:]
        for query in queries {
            let key = Key(query)
            if let known = cache.value(for: key) {
                answers[key] = known
            } else {
                unknown[SymbolFiles.Module(query), default: []].insert(query.lookupAddress)
                if query.isReturnAddress { returns[SymbolFiles.Module(query), default: []].insert(query.lookupAddress) }
            }
        }
        for (module, addresses) in unknown {
            guard let (found, calls) = search(module, for: addresses, returns[module] ?? []) else { continue }
            let linked = linkedCode[module] ?? LinkedCode()
            for address in addresses {
                let key = Key(module: module.buildID.isEmpty ? module.path : module.buildID, address: address)
                var entry = Entry(symbol: found[address].map { symbol($0, linked) })
                switch calls[address] {
                case .pointer: entry.symbol?.callsPointer = true
                case .function(let start):
                    guard let callee = found[start], callee.start == callee.address else { break }
                    entry.symbol?.callees = [symbol(callee, linked)]
                case nil: break
                }
                answers[key] = entry
                cache.insert(entry, for: key)
            }
        }
        return queries.map { query in
            guard var symbol = answers[Key(query)]?.symbol else { return nil }
            symbol.symbolOffset += query.offset - query.lookupAddress
            return symbol
        }
    }

    private func symbol(_ found: SymbolTableSearch.Found, _ linked: LinkedCode) -> ResolvedSymbol {
        let rawName = String(decoding: found.rawName, as: UTF8.self)
        let otherNames = found.otherNames.map { String(decoding: $0, as: UTF8.self) }
        let (name, language) = demangler.demangle(rawName)
        let simplified = SymbolSimplifier.simplify(name, language: language)
        let isFolded = otherNames.contains { other in
            let (name, language) = demangler.demangle(other)
            return !Self.areAliases(SymbolSimplifier.simplify(name, language: language), simplified)
        }
        var symbol = ResolvedSymbol(
            name: name,
            simplified: simplified,
            mangled: name == rawName ? nil : rawName,
            symbolOffset: found.address - found.start,
            start: found.start,
            size: found.size,
            isFolded: isFolded,
            isOfRuntime: Self.isStub(rawName) || CompiledLibraries.holds(rawName, in: linked.languages ?? [])
                || linked.cLibrary?.holds(found.start, names: [rawName] + otherNames) == true
        )
        if let objects = linked.objects, ObjectFiles.saysOrigin(of: rawName) { symbol.origin = objects.origin(of: found.start) }
        return symbol
    }

    /// What mold calls the jump to an imported function.
    private static func isStub(_ name: String) -> Bool { name.hasSuffix("$plt") || name.hasSuffix("$pltgot") }

    /// Whether two names belong to one function: constructors and clones have the same simplified name, and C libraries also call
    /// `read` `__read`, `__libc_read` and `_IO_new_read`.
    static func areAliases(_ left: String, _ right: String) -> Bool {
        let names = [left, right].map { $0.utf8.drop { $0 == UInt8(ascii: "_") } }
        if names[0].elementsEqual(names[1]) { return true }
        let (long, short) = names[0].count > names[1].count ? (left, names[1]) : (right, names[0])
        return long.utf8.first == UInt8(ascii: "_") && long.utf8.suffix(short.count).elementsEqual(short)
            && long.utf8.dropLast(short.count).last == UInt8(ascii: "_")
    }

    /// The results from the tables of `module`, and where the calls before `returns` lead to; nil if its file is not available or
    /// is another one.
    private mutating func search(
        _ module: SymbolFiles.Module,
        for addresses: Set<UInt64>,
        _ returns: Set<UInt64>
    ) -> (found: [UInt64: SymbolTableSearch.Found], calls: [UInt64: Call])? {
        guard let file = files.open(module) else { return nil }
        var found: [UInt64: SymbolTableSearch.Found] = [:]
        let calls = Self.mayBeOwn(file, module) ? Self.calls(before: returns, in: file) : [:]
        var rest = addresses.union(calls.values.compactMap(\.start)).sorted()
        let hasOwnTable = file.sections.contains { $0.type == ELFFile.SectionType.symbolTable }
        let isNew = linkedCode[module] == nil
        if isNew, linkedCode.count >= Self.maximumLinkedCode { linkedCode = [:] }
        if !hasOwnTable, let debug = files.openDebugFile(of: file, module) {
            search(debug, ELFFile.SectionType.symbolTable, for: &rest, into: &found)
            if isNew { linkedCode[module] = Self.linkedCode(in: debug, of: file, module) }
            findLanguages(of: module, in: debug, for: found)
        } else if isNew {
            linkedCode[module] = Self.linkedCode(in: file, of: file, module)
        }
        search(file, ELFFile.SectionType.symbolTable, for: &rest, into: &found)
        search(file, ELFFile.SectionType.dynamicSymbols, for: &rest, into: &found)
        findLanguages(of: module, in: file, for: found)
        return (found, calls)
    }

    /// No function of a system library is the program's own, whatever it was built from.
    private static func mayBeOwn(_ file: borrowing ELFFile, _ module: SymbolFiles.Module) -> Bool {
        file.isProgram || FileLocation(module.path, executable: nil) != .system
    }

    /// Only when a name needs it, once for each module.
    private mutating func findLanguages(
        of module: SymbolFiles.Module,
        in file: borrowing ELFFile,
        for found: [UInt64: SymbolTableSearch.Found]
    ) {
        guard linkedCode[module]?.languages == nil,
            found.values.contains(where: { CompiledLibraries.mayHold(String(decoding: $0.rawName, as: UTF8.self)) })
        else { return }
        let tables = [ELFFile.SectionType.symbolTable, ELFFile.SectionType.dynamicSymbols]
        linkedCode[module]?.languages = file.sections.filter { tables.contains($0.type) }
            .flatMap { CompiledLibraries.languages(in: file, table: $0) }
    }

    /// - Parameters:
    ///   - symbols: the file with the symbol table: the module's own or its debug file.
    ///   - file: the module's.
    private static func linkedCode(
        in symbols: borrowing ELFFile,
        of file: borrowing ELFFile,
        _ module: SymbolFiles.Module
    ) -> LinkedCode {
        guard mayBeOwn(file, module), let table = symbols.sections.first(where: { $0.type == ELFFile.SectionType.symbolTable })
        else { return LinkedCode() }
        return LinkedCode(
            cLibrary: file.isStaticProgram ? StaticLibrary(in: symbols, table: table) : nil,
            objects: ObjectFiles(in: symbols, table: table, code: file)
        )
    }

    private mutating func search(
        _ file: borrowing ELFFile,
        _ type: UInt32,
        for addresses: inout [UInt64],
        into found: inout [UInt64: SymbolTableSearch.Found]
    ) {
        guard !addresses.isEmpty, let table = file.sections.first(where: { $0.type == type }) else { return }
        tablePasses += 1
        var search = SymbolTableSearch(addresses: addresses)
        for match in search.search(file, table: table) { found[match.address] = match }
        addresses.removeAll { found[$0] != nil }
    }
}
