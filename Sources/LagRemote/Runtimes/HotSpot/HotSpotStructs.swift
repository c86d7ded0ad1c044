/// HotSpot's description of its own structures: the tables that `libjvm.so` exports for the serviceability agent
/// (`gHotSpotVMStructs` and related tables, `src/hotspot/share/runtime/vmStructs.hpp`).
struct HotSpotStructs: Sendable {
    /// By type and name, such as `Method::_constMethod`: the offset in an object; for a static field, its address.
    var fields: [String: UInt64] = [:]
    /// The sizes of types, by name.
    var sizes: [String: UInt64] = [:]
    var constants: [String: Int32] = [:]
}

extension HotSpotStructs {
    /// Takes some milliseconds, once per process: the tables have 2000 rows.
    /// - Parameter isWanted: the types whose fields and sizes are kept.
    /// - Returns: nil if there are no such tables.
    init?(_ memory: RemoteMemory, _ symbols: DynamicSymbols, isWanted: (String) -> Bool) {
        var reader = HotSpotTableReader(memory: memory, symbols: symbols)
        var found = HotSpotStructs()
        var wanted: [UInt64: String?] = [:]
        func type(_ address: UInt64, _ reader: inout HotSpotTableReader) -> String? {
            if let known = wanted[address] { return known }
            let name = reader.text(address).flatMap { isWanted($0) ? $0 : nil }
            wanted[address] = .some(name)
            return name
        }
        let structs = reader.forEachRow("gHotSpotVMStruct", ["TypeName", "FieldName", "IsStatic", "Offset", "Address"]) {
            reader,
            row in
            guard let type = type(row[0], &reader), let name = reader.text(row[1]) else { return }
            found.fields["\(type)::\(name)"] = UInt32(truncatingIfNeeded: row[2]) != 0 ? row[4] : row[3]
        }
        let types = reader.forEachRow("gHotSpotVMType", ["TypeName", "Size"]) { reader, row in
            if let type = type(row[0], &reader) { found.sizes[type] = row[1] }
        }
        let constants = reader.forEachRow("gHotSpotVMIntConstant", ["Name", "Value"]) { reader, row in
            if let name = reader.text(row[0]) { found.constants[name] = Int32(truncatingIfNeeded: row[1]) }
        }
        guard structs, types, constants else { return nil }
        self = found
    }
}

/// Reads tables that end with a row without a name.
private struct HotSpotTableReader {
    /// More than the known maximum, some 850 rows in Java 11.
    private static let maximumRows = 8192
    private static let rowsAtOnce = 128
    private static let maximumRowBytes: UInt64 = 256
    private static let nameBytes = 128
    private static let pageBytes: UInt64 = 4096
    private static let maximumPages = 256

    let memory: RemoteMemory
    let symbols: DynamicSymbols
    private var pages: [UInt64: [UInt8]] = [:]

    init(memory: RemoteMemory, symbols: DynamicSymbols) {
        self.memory = memory
        self.symbols = symbols
    }

    /// - Parameters:
    ///   - table: the prefix of its symbols.
    ///   - columns: the names of the symbols with the columns' offsets in a row; the first one is the name.
    /// - Returns: whether there is such a complete table.
    mutating func forEachRow(_ table: String, _ columns: [String], _ body: (inout HotSpotTableReader, [UInt64]) -> Void) -> Bool {
        func value(_ name: String) -> UInt64? { symbols.symbol(name).flatMap { memory.load($0.address) } }
        let offsets = columns.compactMap { value("\(table)Entry\($0)Offset") }
        guard offsets.count == columns.count, let begin = value(table + "s"), let stride = value(table + "EntryArrayStride"),
            stride >= 8, stride <= Self.maximumRowBytes, offsets.allSatisfy({ $0 <= stride - 8 })
        else { return false }
        var first = 0
        while first < Self.maximumRows {
            guard let rows = rows(at: begin &+ UInt64(first) &* stride, bytes: Int(stride)) else { return false }
            for base in Swift.stride(from: 0, to: rows.count, by: Int(stride)) {
                let row = offsets.compactMap { rows.number(at: base + Int($0), as: UInt64.self) }
                guard row.count == columns.count, row[0] != 0 else { return row.first == 0 }
                body(&self, row)
            }
            first += rows.count / Int(stride)
        }
        return false
    }

    /// Near the end of a table, perhaps only one can be read.
    private func rows(at address: UInt64, bytes: Int) -> [UInt8]? {
        memory.bytes(address, Self.rowsAtOnce * bytes) ?? memory.bytes(address, bytes)
    }

    /// The names are adjacent.
    mutating func text(_ address: UInt64) -> String? {
        RemoteMemory.text(address, limit: Self.nameBytes) { place, count in
            let page = place & ~(Self.pageBytes - 1)
            if pages[page] == nil, let read = memory.bytes(page, Int(Self.pageBytes)) {
                if pages.count >= Self.maximumPages { pages = [:] }
                pages[page] = read
            }
            guard let bytes = pages[page] else { return nil }
            let begin = Int(place - page)
            return begin + count <= bytes.count ? Array(bytes[begin..<begin + count]) : nil
        }
    }
}
