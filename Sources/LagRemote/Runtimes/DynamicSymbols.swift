/// The symbols that a module in another process's memory exports, looked up one by one by its GNU hash table
/// (`.gnu.hash`, else `.hash`, like the dynamic linker): some reads per symbol, no file.
///
/// Formats: System V ABI, chapter 5 ("Dynamic Linking"); for DT_GNU_HASH, glibc's `elf/dl-lookup.c`.
struct DynamicSymbols {
    private enum Tag {
        static let hash: UInt64 = 4
        static let stringTable: UInt64 = 5
        static let symbolTable: UInt64 = 6
        static let stringBytes: UInt64 = 10
        static let pltBytes: UInt64 = 2
        static let relocations: UInt64 = 7
        static let relocationBytes: UInt64 = 8
        static let pltRelocations: UInt64 = 23
        static let gnuHash: UInt64 = 0x6fff_fef5
    }

    private static let headerBytes = 64
    private static let programHeaderBytes = 56
    private static let maximumProgramHeaders = 64
    private static let maximumDynamicEntries = 256
    /// A longer chain is damaged.
    private static let maximumChain = 256
    private static let symbolBytes: UInt64 = 24
    private static let relocationBytes: UInt64 = 24
    private static let threadLocalType: UInt8 = 6

    private let memory: RemoteMemory
    let bias: UInt64
    private let strings: UInt64
    private let stringBytes: UInt64
    private let symbols: UInt64
    private let hash: UInt64
    private let buckets: UInt32
    /// For GNU's table; nil: System V's table.
    private let gnu: (firstSymbol: UInt32, bloomWords: UInt32)?

    /// Relocations with addends, including those of the procedure linkage table.
    let relocations: [(address: UInt64, count: Int)]
    /// The thread-local segment; nil: none.
    let threadStorage: ThreadStorage?

    /// A symbol's address and size in bytes.
    struct Symbol: Sendable, Equatable {
        let address: UInt64
        let size: UInt64
    }

    /// A thread-local variable, by its offset in the module's thread-local storage.
    struct ThreadLocal: Sendable, Equatable {
        let index: UInt32
        let offset: UInt64
    }

    /// The segment of thread-local storage, as in the file.
    struct ThreadStorage: Sendable, Equatable {
        let address: UInt64
        let bytes: UInt64
        /// A power of two.
        let alignment: UInt64
    }

    /// Nil if the module exports nothing, or is damaged.
    init?(_ memory: RemoteMemory, start: UInt64, bias: UInt64) {
        guard let header = memory.bytes(start, Self.headerBytes), header.number(at: 0, as: UInt32.self) == 0x464c_457f,
            let table = header.number(at: 32, as: UInt64.self), let count = header.number(at: 56, as: UInt16.self),
            header.number(at: 54, as: UInt16.self) == UInt16(Self.programHeaderBytes), Int(count) <= Self.maximumProgramHeaders,
            let segments = memory.bytes(start &+ table, Int(count) * Self.programHeaderBytes)
        else { return nil }
        var found: (UInt64, UInt64)?
        var storage: ThreadStorage?
        for index in 0..<Int(count) {
            let base = index * Self.programHeaderBytes
            let type: UInt32? = segments.number(at: base)
            if type == 7 { storage = ThreadStorage(segments, at: base) }  // PT_TLS
            guard type == 2 else { continue }  // PT_DYNAMIC
            found = (segments.number(at: base + 16) ?? 0, segments.number(at: base + 40) ?? 0)
        }
        guard let (place, bytes) = found else { return nil }
        let entries = min(Int(clamping: bytes / 16), Self.maximumDynamicEntries)
        guard let dynamic = memory.bytes(bias &+ place, entries * 16) else { return nil }
        var values: [UInt64: UInt64] = [:]
        for index in 0..<entries {
            guard let tag: UInt64 = dynamic.number(at: index * 16), tag != 0 else { break }
            values[tag] = dynamic.number(at: index * 16 + 8)
        }
        guard let strings = values[Tag.stringTable], let symbols = values[Tag.symbolTable],
            let hash = values[Tag.gnuHash] ?? values[Tag.hash]
        else { return nil }
        // glibc stores addresses there when it loads the module; other C libraries leave the file's values.
        func address(_ value: UInt64) -> UInt64 { value < bias ? bias &+ value : value }
        self.memory = memory
        self.bias = bias
        self.strings = address(strings)
        self.symbols = address(symbols)
        self.hash = address(hash)
        stringBytes = values[Tag.stringBytes] ?? 0
        threadStorage = storage
        relocations = [(Tag.relocations, Tag.relocationBytes), (Tag.pltRelocations, Tag.pltBytes)].compactMap { table, size in
            guard let table = values[table], let size = values[size] else { return nil }
            return (address(table), Int(clamping: size / Self.relocationBytes))
        }
        guard let words = memory.bytes(self.hash, 16), let buckets: UInt32 = words.number(at: 0), buckets > 0 else { return nil }
        self.buckets = buckets
        gnu =
            values[Tag.gnuHash] == nil
            ? nil : words.number(at: 4).flatMap { first in words.number(at: 8).map { (firstSymbol: first, bloomWords: $0) } }
    }

    /// Nil if it exports no such symbol.
    func symbol(_ name: String) -> Symbol? {
        find(name) { _, entry in Symbol(address: bias &+ entry.value, size: entry.size) }
    }

    /// Nil if it exports no such variable.
    func threadLocal(_ name: String) -> ThreadLocal? {
        find(name) { $1.type == Self.threadLocalType ? ThreadLocal(index: $0, offset: $1.value) : nil }
    }

    private func find<Found>(_ name: String, _ make: (UInt32, Entry) -> Found?) -> Found? {
        let wanted = Array(name.utf8)
        for index in gnu.map({ candidates(wanted, $0.firstSymbol, $0.bloomWords) }) ?? candidates(wanted) {
            if let found = entry(at: index, named: wanted) { return make(index, found) }
        }
        return nil
    }

    /// In GNU's table: the symbols with the name's hash.
    private func candidates(_ name: [UInt8], _ firstSymbol: UInt32, _ bloomWords: UInt32) -> [UInt32] {
        var code: UInt32 = 5381
        for byte in name { code = code &* 33 &+ UInt32(byte) }
        let bucketTable = hash &+ 16 &+ UInt64(bloomWords) &* 8
        let chains = bucketTable &+ UInt64(buckets) &* 4
        guard let first: UInt32 = memory.load(bucketTable &+ UInt64(code % buckets) &* 4), first >= firstSymbol else {
            return []
        }
        var found: [UInt32] = []
        for step in 0..<UInt32(Self.maximumChain) {
            let (index, overflow) = first.addingReportingOverflow(step)
            guard !overflow, let entry: UInt32 = memory.load(chains &+ UInt64(index - firstSymbol) &* 4) else { return found }
            if entry | 1 == code | 1 { found.append(index) }
            if entry & 1 != 0 { break }
        }
        return found
    }

    /// In System V's table: the symbols of the name's bucket.
    private func candidates(_ name: [UInt8]) -> [UInt32] {
        var code: UInt32 = 0
        for byte in name {
            code = code << 4 &+ UInt32(byte)
            code = (code ^ (code >> 24) & 0xf0) & 0x0fff_ffff
        }
        let bucketTable = hash &+ 8
        let chains = bucketTable &+ UInt64(buckets) &* 4
        var found: [UInt32] = []
        var place = bucketTable &+ UInt64(code % buckets) &* 4
        while found.count < Self.maximumChain, let index: UInt32 = memory.load(place), index != 0 {
            found.append(index)
            place = chains &+ UInt64(index) &* 4
        }
        return found
    }

    private struct Entry {
        let type: UInt8
        let value: UInt64
        let size: UInt64
    }

    private func entry(at index: UInt32, named wanted: [UInt8]) -> Entry? {
        guard let entry = memory.bytes(symbols &+ UInt64(index) &* Self.symbolBytes, Int(Self.symbolBytes)),
            let name: UInt32 = entry.number(at: 0), UInt64(name) < stringBytes, let section: UInt16 = entry.number(at: 6),
            section != 0, let info: UInt8 = entry.number(at: 4),
            let value: UInt64 = entry.number(at: 8), let size: UInt64 = entry.number(at: 16),
            memory.bytes(strings &+ UInt64(name), wanted.count + 1) == wanted + [0]
        else { return nil }
        return Entry(type: info & 15, value: value, size: size)
    }
}

extension DynamicSymbols.ThreadStorage {
    fileprivate init?(_ segments: [UInt8], at base: Int) {
        guard let address: UInt64 = segments.number(at: base + 16), let bytes: UInt64 = segments.number(at: base + 40),
            let alignment: UInt64 = segments.number(at: base + 48)
        else { return nil }
        // 0 is none.
        self.init(address: address, bytes: bytes, alignment: max(alignment, 1))
        guard self.alignment.nonzeroBitCount == 1 else { return nil }
    }
}
