/// The symbols that a module in another process's memory exports, looked up one by one by its GNU hash table
/// (`.gnu.hash`, as the dynamic linker does it): some reads a symbol, no file.
///
/// Formats: System V ABI, chapter 5 ("Dynamic Linking"); for DT_GNU_HASH, glibc's `elf/dl-lookup.c`.
struct DynamicSymbols {
    private enum Tag {
        static let stringTable: UInt64 = 5
        static let symbolTable: UInt64 = 6
        static let stringBytes: UInt64 = 10
        static let gnuHash: UInt64 = 0x6fff_fef5
    }

    private static let headerBytes = 64
    private static let programHeaderBytes = 56
    private static let maximumProgramHeaders = 64
    private static let maximumDynamicEntries = 256
    /// A chain that is longer is damaged.
    private static let maximumChain = 256
    private static let symbolBytes: UInt64 = 24

    private let memory: RemoteMemory
    private let bias: UInt64
    private let strings: UInt64
    private let stringBytes: UInt64
    private let symbols: UInt64
    private let hash: UInt64
    private let buckets: UInt32
    private let firstSymbol: UInt32
    private let bloomWords: UInt32

    /// A symbol's address, and how many bytes it has.
    struct Symbol: Sendable, Equatable {
        let address: UInt64
        let size: UInt64
    }

    /// Nil where the module exports nothing, or is damaged.
    init?(_ memory: RemoteMemory, start: UInt64, bias: UInt64) {
        guard let header = memory.bytes(start, Self.headerBytes), header.number(at: 0, as: UInt32.self) == 0x464c_457f,
            let table = header.number(at: 32, as: UInt64.self), let count = header.number(at: 56, as: UInt16.self),
            header.number(at: 54, as: UInt16.self) == UInt16(Self.programHeaderBytes), Int(count) <= Self.maximumProgramHeaders,
            let segments = memory.bytes(start &+ table, Int(count) * Self.programHeaderBytes)
        else { return nil }
        var found: (UInt64, UInt64)?
        for index in 0..<Int(count) {
            let base = index * Self.programHeaderBytes
            guard segments.number(at: base, as: UInt32.self) == 2 else { continue }  // PT_DYNAMIC
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
        guard let strings = values[Tag.stringTable], let symbols = values[Tag.symbolTable], let hash = values[Tag.gnuHash]
        else { return nil }
        // glibc puts addresses there when it loads the module; others leave what the file has.
        func address(_ value: UInt64) -> UInt64 { value < bias ? bias &+ value : value }
        self.memory = memory
        self.bias = bias
        self.strings = address(strings)
        self.symbols = address(symbols)
        self.hash = address(hash)
        stringBytes = values[Tag.stringBytes] ?? 0
        guard let words = memory.bytes(self.hash, 16), let buckets: UInt32 = words.number(at: 0),
            let firstSymbol: UInt32 = words.number(at: 4), let bloomWords: UInt32 = words.number(at: 8), buckets > 0
        else { return nil }
        self.buckets = buckets
        self.firstSymbol = firstSymbol
        self.bloomWords = bloomWords
    }

    /// Nil where it exports no such symbol.
    func symbol(_ name: String) -> Symbol? {
        let wanted = Array(name.utf8)
        var code: UInt32 = 5381
        for byte in wanted { code = code &* 33 &+ UInt32(byte) }
        let bucketTable = hash &+ 16 &+ UInt64(bloomWords) &* 8
        let chains = bucketTable &+ UInt64(buckets) &* 4
        guard let first: UInt32 = memory.load(bucketTable &+ UInt64(code % buckets) &* 4), first >= firstSymbol else {
            return nil
        }
        for step in 0..<UInt32(Self.maximumChain) {
            let (index, overflow) = first.addingReportingOverflow(step)
            guard !overflow, let entry: UInt32 = memory.load(chains &+ UInt64(index - firstSymbol) &* 4) else { return nil }
            if entry | 1 == code | 1, let found = symbol(at: index, named: wanted) { return found }
            if entry & 1 != 0 { return nil }
        }
        return nil
    }

    private func symbol(at index: UInt32, named wanted: [UInt8]) -> Symbol? {
        guard let entry = memory.bytes(symbols &+ UInt64(index) &* Self.symbolBytes, Int(Self.symbolBytes)),
            let name: UInt32 = entry.number(at: 0), UInt64(name) < stringBytes, let section: UInt16 = entry.number(at: 6),
            section != 0,
            let value: UInt64 = entry.number(at: 8), let size: UInt64 = entry.number(at: 16),
            memory.bytes(strings &+ UInt64(name), wanted.count + 1) == wanted + [0]
        else { return nil }
        return Symbol(address: bias &+ value, size: size)
    }
}
