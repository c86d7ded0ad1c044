internal import LagModel

extension Symbolizer {
    /// The function that the compiler has inlined around a call (``InlinedCopies``); nil if none is known. Its `symbolOffset` is 0.
    ///
    /// Reads the module's code once, and the neighbouring functions for each new call.
    /// - Parameters:
    ///   - call: its return address.
    ///   - function: where the function of the call begins.
    package mutating func copy(around call: SymbolQuery, in function: UInt64) -> ResolvedSymbol? {
        let module = SymbolFiles.Module(call)
        let known = copies[module]?.places[call.offset]
        if known == nil {
            let place = findCopy(around: call.offset, in: function, of: module)
            if copies[module]?.places.count ?? 0 >= Self.maximumPlaces { copies[module]?.places = [:] }
            copies[module]?.places[call.offset] = .some(place)
        }
        guard let start = copies[module]?.places[call.offset] ?? nil else { return nil }
        var query = call
        (query.offset, query.isReturnAddress) = (start, false)
        return resolve([query])[0].flatMap { $0.start == start ? $0 : nil }
    }

    /// What is known of a module.
    struct ModuleCopies {
        /// Nil if it cannot be searched.
        let search: InlinedCopies?
        /// The results by return address.
        var places: [UInt64: UInt64?] = [:]
    }

    private static let maximumPlaces = 4096

    private mutating func findCopy(around end: UInt64, in function: UInt64, of module: SymbolFiles.Module) -> UInt64? {
        guard let file = files.open(module) else { return nil }
        if copies[module] == nil {
            if copies.count >= Self.maximumLinkedCode { copies = [:] }
            let table = file.sections.first { $0.type == ELFFile.SectionType.symbolTable }
            copies[module] = ModuleCopies(search: table.flatMap { InlinedCopies(in: file, table: $0, code: file) })
        }
        return copies[module]?.search?.copy(around: end, in: function, of: file)
    }
}
