internal import LagModel

/// A JavaScript function: V8's `SharedFunctionInfo`, which all closures of one place in a script share.
struct V8Function {
    /// Longer names and paths are not read.
    private static let maximumNameCharacters = 512
    private static let maximumPathCharacters = 4096
    private static let maximumConstants = 32
    private static let maximumBytecode: Int32 = 65_536
    /// A scope with more variables in its context keeps their names elsewhere (`kScopeInfoMaxInlinedLocalNamesSize`, `src/common/globals.h`).
    private static let maximumInlinedNames = 75
    private static let maximumLocals: Int32 = 65_536

    /// The name of unnamed functions in V8's own stack traces.
    static let anonymous = "<anonymous>"

    private let heap: V8Heap
    let shared: UInt64

    /// Nil if there is no such object.
    init?(_ heap: V8Heap, _ shared: UInt64) {
        guard heap.type(shared) == heap.layout.types.shared else { return nil }
        self.heap = heap
        self.shared = shared
    }

    /// A hash of data that does not change while the function runs, so that another one at the same address is not confused with
    /// it.
    var check: UInt64? {
        guard let name = heap.field(shared, heap.layout.sharedName), let script = heap.field(shared, heap.layout.sharedScript)
        else { return nil }
        var hash = StableHash()
        hash.combine(folding: name)
        hash.combine(folding: script)
        return hash.value | 1
    }

    /// Whether it is a builtin of V8: instead of bytecode it has a number.
    var isBuiltin: Bool { heap.field(shared, heap.layout.sharedData).map { $0 & 1 == 0 } ?? false }

    /// Its bytecode; nil if it has none (any more).
    var bytecode: UInt64? {
        guard let data = heap.field(shared, heap.layout.sharedData) else { return nil }
        switch heap.type(data) {
        case heap.layout.types.bytecodeArray: return data
        case heap.layout.types.code:
            // Baseline code has it where optimised code has other data.
            guard let bytecode = heap.field(data, heap.layout.release.code.data),
                heap.type(bytecode) == heap.layout.types.bytecodeArray
            else { return nil }
            return bytecode
        default: return nil
        }
    }

    /// From its bytecode to the places in its script.
    var positionTable: [UInt8]? {
        bytecode.flatMap { heap.field($0, heap.layout.release.bytecodePositions) }.flatMap(heap.table)
    }

    /// The first and the last source position of its bytecode; nil: not known.
    var positions: ClosedRange<Int>? {
        guard let entries = positionTable.flatMap(V8Positions.entries), !entries.isEmpty else { return nil }
        let offsets = entries.compactMap(\.source.offset)
        guard offsets.count == entries.count, let first = offsets.min(), let last = offsets.max() else { return nil }
        return first...last
    }

    /// Its name; nil if it cannot be read for certain.
    func name() -> String? {
        guard let place = heap.field(shared, heap.layout.sharedName) else { return nil }
        // Small: it has none.
        if place & 1 == 0 { return Self.anonymous }
        guard let type = heap.type(place) else { return nil }
        if type < heap.layout.strings.firstNonString { return text(place) }
        return type == heap.layout.types.scopeInfo ? name(inScope: place) : nil
    }

    /// Distinguishes an unnamed function from others in its file, independent of its place: the names and strings among its
    /// constants, in order, or without these its bytecode, which differs between V8 versions. Nil if it cannot be read.
    func variant() -> String? {
        let used = constants()
        if !used.isEmpty { return used.joined(separator: " ") }
        guard let array = bytecode, let count = heap.small(array, heap.layout.arrayLength),
            (1...Self.maximumBytecode).contains(count),
            let bytes = heap.read((array &- V8Heap.strongTag) &+ heap.layout.bytecodeData, Int(count))
        else { return nil }
        var hash = StableHash()
        for byte in bytes { hash.combine(word: UInt64(byte)) }
        return hash.text
    }

    private func constants() -> [String] {
        guard let array = bytecode, let constants = heap.field(array, heap.layout.release.bytecodeConstants),
            let type = heap.type(constants), type == heap.layout.types.fixedArray || type == heap.layout.types.trustedArray
        else { return [] }
        return (0..<Self.maximumConstants).compactMap { index in
            heap.element(constants, index).flatMap {
                V8Heap.isObject($0) ? heap.text($0, limit: Self.maximumNameCharacters) : nil
            }
        }
    }

    private func text(_ string: UInt64) -> String? {
        heap.text(string, limit: Self.maximumNameCharacters).map { $0.isEmpty ? Self.anonymous : $0 }
    }

    /// Bits of `ScopeFlags` (`src/objects/scope-info.tq`), the same in all releases that are known.
    private enum ScopeFlags {
        static let typeMask: UInt32 = 0xf
        static let hasSavedClassVariable: UInt32 = 1 << 10
        static let functionVariable: UInt32 = 3 << 12
        static let hasInferredName: UInt32 = 1 << 14
    }

    private func name(inScope scope: UInt64) -> String? {
        let fields = heap.layout.release.scope
        func slot(_ index: UInt64) -> UInt64? { heap.field(scope, 8 &+ index &* 8) }
        guard let word = slot(0) else { return nil }
        let flags = UInt32(truncatingIfNeeded: fields.flagsAreSmall ? word >> 32 : word)
        // The code of a file, of `eval`.
        guard flags & ScopeFlags.typeMask == fields.functionType else { return Self.anonymous }
        guard let count = slot(heap.layout.scopeLocalCount).flatMap(V8Heap.small), (0...Self.maximumLocals).contains(count) else {
            return nil
        }
        let names = Int(count) < Self.maximumInlinedNames ? UInt64(count) : 1
        var index = heap.layout.scopeFirstVariable &+ names &+ UInt64(count)
        if flags & ScopeFlags.hasSavedClassVariable != 0 { index &+= 1 }
        if flags & ScopeFlags.functionVariable != 0 {
            // The name, and a slot's number: anything else is not such a scope.
            guard let name = slot(index), let number = slot(index &+ 1), V8Heap.small(number) != nil else { return nil }
            if V8Heap.isObject(name) {
                guard let found = text(name) else { return nil }
                if found != Self.anonymous { return found }
            } else if V8Heap.small(name) != 0 {
                return nil
            }
            index &+= 2
        }
        let inferred = flags & ScopeFlags.hasInferredName != 0 ? slot(index) : 0
        if inferred != 0 { index &+= 1 }
        if let start = slot(fields.position ?? index).flatMap(V8Heap.small), let name = computedName(at: Int(start)) {
            return name
        }
        guard inferred != 0 else { return Self.anonymous }
        guard let inferred, let type = heap.type(inferred) else { return nil }
        // By what it was assigned to; undefined where that was nothing.
        return type < heap.layout.strings.firstNonString ? text(inferred) : Self.anonymous
    }

    /// - Parameter start: where its parameters begin. What V8 infers of a method without a name of its own is that of what it is in.
    private func computedName(at start: Int) -> String? {
        guard let source = script.flatMap({ heap.field($0, heap.layout.scriptSource) }).flatMap(heap.flat) else { return nil }
        return V8ComputedName.text(before: start, in: source, heap).flatMap { V8ComputedName.name($0[...])?.asName }
    }

    private var script: UInt64? {
        guard let script = heap.field(shared, heap.layout.sharedScript), heap.type(script) == heap.layout.types.script else {
            return nil
        }
        return script
    }

    /// The script's file or name; nil if it has none.
    func file() -> String? {
        guard let script, let name = heap.field(script, heap.layout.scriptName),
            let text = heap.text(name, limit: Self.maximumPathCharacters), !text.isEmpty
        else { return nil }
        return Self.path(text)
    }

    /// Whether its script has no name, as with `eval` or `new Function`: the program's own code, without a file.
    var isEvaluated: Bool {
        guard !isBuiltin, let name = script.flatMap({ heap.field($0, heap.layout.scriptName) }), let type = heap.type(name) else {
            return false
        }
        return type >= heap.layout.strings.firstNonString
    }

    /// Modules have URLs.
    static func path(_ name: String) -> String {
        guard name.hasPrefix("file:///") else { return name }
        var bytes: [UInt8] = []
        var rest = name.utf8.dropFirst("file://".utf8.count)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                bytes.append(code)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The line of a place in the script, counted from 1.
    /// - Parameter sources: the line ends of scripts without a table in V8.
    func line(at position: Int, _ sources: V8Sources) -> Int? {
        guard let script, position >= 0,
            // Where the script begins in its file: the field after the name (`src/objects/script.tq`).
            let first = heap.small(script, heap.layout.scriptName &+ 8), (0...1_000_000).contains(first),
            let line = lineByEnds(script, position) ?? lineBySource(script, position, sources)
        else { return nil }
        return line + Int(first)
    }

    /// With V8's table of line ends, which it creates on first use.
    private func lineByEnds(_ script: UInt64, _ position: Int) -> Int? {
        guard let ends = heap.field(script, heap.layout.scriptLineEnds), V8Heap.isObject(ends),
            heap.type(ends) == heap.layout.types.fixedArray, let count = heap.small(ends, heap.layout.arrayLength), count > 0
        else { return nil }
        var (low, high) = (0, Int(count))
        while low < high {
            let middle = (low + high) / 2
            guard let end = heap.element(ends, middle).flatMap(V8Heap.small) else { return nil }
            if Int(end) < position { low = middle + 1 } else { high = middle }
        }
        return low < Int(count) ? low + 1 : nil
    }

    private func lineBySource(_ script: UInt64, _ position: Int, _ sources: V8Sources) -> Int? {
        guard let source = heap.field(script, heap.layout.scriptSource), let flat = heap.flat(source) else { return nil }
        return sources.line(at: position, of: script, in: flat, heap)
    }
}
