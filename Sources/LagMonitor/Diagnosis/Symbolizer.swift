/// Names for addresses, from the symbol tables of the modules' own files. **For the reporter thread only**: it opens files
/// and allocates.
///
/// A name is never invented: the file must carry the build-id that was asked for; a file that is missing, replaced or
/// damaged gives none. With an empty build-id in the query the path alone is believed, unless the kernel
/// marks it as deleted.
///
/// No table is kept. A batch costs one pass over each module's symbols for all addresses not seen before (about
/// 20 ns a symbol); answers are kept by (build-id or path, address), at most ``cacheLimit``, and all of them forgotten when
/// there are more. "No symbol" is kept, too, except for files that could not be opened.
///
/// Where the file has no `.symtab` (it is stripped), a separate debug file of the same build-id is looked for
/// (`.build-id/xx/yyyy.debug`, the layout of GDB's manual, "Separate Debug Files"), then `.dynsym` serves.
public struct Symbolizer: Sendable {
    /// Answers that are kept.
    public static let cacheLimit = 8192
    /// Where Debian's packages put debug files.
    public static let debugRoot = "/usr/lib/debug"

    private struct CacheKey: Hashable {
        let module: String
        let address: UInt64
    }

    private struct CacheEntry {
        let rawName: String?
        let name: String
        let simplified: String
        let start: UInt64
    }

    private struct ModuleKey: Hashable {
        let path: String
        let buildID: String
    }

    private let demangler = Demangler()
    private let debugRoot: String
    private let cacheLimit: Int
    /// A nil value: this address has no symbol.
    private var cache: [CacheKey: CacheEntry?] = [:]
    /// Passes over symbol tables so far; tells tests that the cache works.
    package private(set) var tablePasses = 0

    /// Finds the demanglers, which takes the loader's lock: create it at start.
    public init() { self.init(debugRoot: Self.debugRoot, cacheLimit: Self.cacheLimit) }

    /// - Parameters:
    ///   - debugRoot: where `.build-id` directories are.
    ///   - cacheLimit: how many answers are kept; at least 1.
    public init(debugRoot: String, cacheLimit: Int = Symbolizer.cacheLimit) {
        self.debugRoot = debugRoot
        self.cacheLimit = max(1, cacheLimit)
    }

    /// How many answers are kept at present.
    public var cachedCount: Int { cache.count }

    /// The answers in the order of the queries; nil where there is no symbol.
    public mutating func resolve(_ queries: [SymbolQuery]) -> [ResolvedSymbol?] {
        var unknown: [ModuleKey: Set<UInt64>] = [:]
        var answers: [CacheKey: CacheEntry?] = [:]
        for query in queries {
            let key = Self.cacheKey(query)
            if let known = cache[key] {
                answers[key] = known
            } else {
                unknown[ModuleKey(path: query.modulePath, buildID: query.buildID), default: []].insert(query.lookupAddress)
            }
        }
        for (module, addresses) in unknown {
            guard let found = search(module, for: addresses.sorted()) else { continue }
            for address in addresses {
                let key = CacheKey(module: Self.cacheName(module.path, module.buildID), address: address)
                let entry = found[address].map(entry)
                answers[key] = entry
                if cache.count >= cacheLimit { cache.removeAll(keepingCapacity: true) }
                cache[key] = .some(entry)
            }
        }
        return queries.map { query in
            guard let answer = answers[Self.cacheKey(query)], let entry = answer else { return nil }
            return ResolvedSymbol(
                name: entry.name,
                simplified: entry.simplified,
                mangled: entry.rawName,
                symbolOffset: query.offset - entry.start
            )
        }
    }

    private static func cacheKey(_ query: SymbolQuery) -> CacheKey {
        CacheKey(module: cacheName(query.modulePath, query.buildID), address: query.lookupAddress)
    }

    private static func cacheName(_ path: String, _ buildID: String) -> String { buildID.isEmpty ? path : buildID.lowercased() }

    private func entry(_ found: SymbolTableSearch.Found) -> CacheEntry {
        let rawName = String(decoding: found.rawName, as: UTF8.self)
        let (name, language) = demangler.demangle(rawName)
        return CacheEntry(
            rawName: name == rawName ? nil : rawName,
            name: name,
            simplified: SymbolSimplifier.simplify(name, language: language),
            start: found.start
        )
    }

    /// What the tables of `module` say; nil when its file cannot be had or is another one.
    private mutating func search(
        _ module: ModuleKey,
        for addresses: [UInt64]
    ) -> [UInt64: SymbolTableSearch.Found]? {
        guard let file = Self.open(module) else { return nil }
        var found: [UInt64: SymbolTableSearch.Found] = [:]
        var rest = addresses
        let hasOwnTable = file.sections.contains { $0.type == ELFFile.SectionType.symbolTable }
        if !hasOwnTable, let id = file.buildID, let debug = openDebugFile(buildID: id) {
            search(debug, ELFFile.SectionType.symbolTable, for: &rest, into: &found)
        }
        search(file, ELFFile.SectionType.symbolTable, for: &rest, into: &found)
        search(file, ELFFile.SectionType.dynamicSymbols, for: &rest, into: &found)
        return found
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

    private static func open(_ module: ModuleKey) -> ELFFile? {
        guard let source = source(module.path), let file = ELFFile(source) else { return nil }
        let actual = file.buildID
        guard module.buildID.isEmpty || actual == module.buildID.lowercased() else { return nil }
        return file
    }

    private static func source(_ path: String) -> ByteSource? {
        if path == "[vdso]" {
            guard let image = VDSOImage.bytes else { return nil }
            return ByteSource(memory: image)
        }
        // A relative path means nothing here, and a deleted file is not at its path any more.
        guard path.hasPrefix("/"), !path.hasSuffix(" (deleted)") else { return nil }
        return ByteSource(path: path)
    }

    private func openDebugFile(buildID: String) -> ELFFile? {
        guard buildID.utf8.count > 2 else { return nil }
        let path = "\(debugRoot)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug"
        guard let source = ByteSource(path: path), let file = ELFFile(source) else { return nil }
        guard file.buildID == buildID else { return nil }
        return file
    }
}
