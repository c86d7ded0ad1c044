internal import LagDiagnosis

/// The function names of an ELF file, as the reporter looks them up.
final class ElfTarget: FuzzTarget {
    static let name = "elf"
    private let surroundings: FuzzSurroundings
    private let demangler = Demangler()

    init(_ surroundings: FuzzSurroundings) { self.surroundings = surroundings }

    var seeds: [[UInt8]] {
        get throws { try SystemLibrary.contents(upTo: 1 << 17) }
    }

    func read(_ input: [UInt8]) throws {
        let path = try surroundings.write(input, to: "file")
        let summary = BinarySummary(path: path)
        var symbolizer = Symbolizer(debugRoot: surroundings.folder)
        let offsets: [UInt64] = [0, 1, 0x1000, 0x2345, 0x9000, 0x10_000, 1 << 32, .max]
        let queries = [false, true].flatMap { isReturnAddress in
            offsets.map {
                SymbolQuery(modulePath: path, buildID: summary?.buildID ?? "", offset: $0, isReturnAddress: isReturnAddress)
            }
        }
        for (query, symbol) in zip(queries, symbolizer.resolve(queries)) {
            guard let symbol else { continue }
            var start = query
            start.offset = symbol.start
            _ = symbolizer.successor(of: start)
        }
        _ = SymbolFiles(debugRoots: [surroundings.folder]).lineFile(of: SymbolFiles.Module(queries[0]))
        _ = InAppRules().isInApp(modulePath: path, symbol: nil)
        for part in input.prefix(4096).split(separator: 0).prefix(20) {
            _ = demangler.demangle(String(decoding: part, as: UTF8.self))
        }
    }
}
