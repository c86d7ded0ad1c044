internal import LagCapture
internal import LagModel

/// A function of a language whose virtual machine runs calls in groups, in another process's memory: the data that is read of it,
/// and checked.
protocol InterpretedFunction {
    /// A hash of data that would differ for another function at the same address, or another place at this position.
    func check(at position: UInt64) -> UInt64

    /// The instruction that a call's program counter belongs to; nil if the counter is not in this function.
    func position(of counter: UInt64) -> UInt64?

    /// Its name in the language's own stack traces.
    func label() -> String?

    /// The file of an instruction, and its line, counted from 1.
    func file(at position: UInt64) -> String?
    func line(at position: UInt64) -> Int?

    /// For a function without its own name: ``LanguageFrameName/variant``. Nil for others, and if it cannot be read.
    func variant() -> String?

    /// The line of an operation, if positions are statements, which may have several.
    func line(at position: UInt64, of operation: UInt64) -> Int?
}

extension InterpretedFunction {
    func line(at position: UInt64, of operation: UInt64) -> Int? { line(at: position) }
}

/// A call of such a function: the address of the function, and the position in it.
struct InterpretedCall {
    let function: UInt64
    let counter: UInt64
    /// The address that the record shows, if different: that of the operation, if counters are statements.
    var operation: UInt64?
}

extension [[InterpretedCall]] {
    /// The frames of these groups. A call whose counter is not in its function gives a frame without a name, so that its callee
    /// is not attributed to its caller.
    /// - Parameter find: reads the function at an address; called once for each.
    func frames<Function: InterpretedFunction>(_ find: (_ place: UInt64) -> Function?) -> [[LanguageFrame]] {
        var known: [UInt64: Function?] = [:]
        var found = map { group in
            group.map { call in
                let found = known[call.function] ?? find(call.function)
                known[call.function] = .some(found)
                guard let found, let position = found.position(of: call.counter) else {
                    return LanguageFrame.nameless(code: call.function, pc: call.operation ?? call.counter)
                }
                return LanguageFrame(
                    code: call.function,
                    check: found.check(at: position),
                    position: position,
                    pc: call.operation ?? call.counter
                )
            }
        }
        // Copying ended there: frames further out are missing.
        while let group = found.last, let last = group.last, last.isNameless { found[found.count - 1].removeLast() }
        return found
    }
}

extension [StackEntry] {
    /// Replaces each call of the function that runs a language's frames by the group of frames that it runs.
    func replacing(callsOf execution: DynamicSymbols.Symbol, by groups: [[LanguageFrame]]) -> [StackEntry] {
        guard groups.contains(where: { !$0.allSatisfy(\.isNameless) }) else { return self }
        var merged: [StackEntry] = []
        var rest = groups[...]
        for entry in self {
            guard case .native(let native) = entry, native.address >= execution.address,
                native.address - execution.address < execution.size, let group = rest.popFirst()
            else {
                merged.append(entry)
                continue
            }
            merged += group.map { .language($0) }
        }
        // The C stack was not walked to its end, but the order of the remaining groups is known.
        for group in rest { merged += group.map { .language($0) } }
        return merged
    }
}

extension LanguageFrame {
    /// Its name, from the current function; nil if that is a different one, or is replaced while it is read.
    /// - Parameters:
    ///   - find: reads the function.
    ///   - isLibrary: whether it is a library function, according to the runtime.
    func name<Function: InterpretedFunction>(
        in language: String,
        _ find: () -> Function?,
        isLibrary: (_ found: Function, _ file: String?) -> Bool?
    ) -> LanguageFrameName? {
        guard let found = find(), found.check(at: position) == check, let label = found.label() else { return nil }
        let file = found.file(at: position)
        var name = LanguageFrameName(
            language: language,
            function: label,
            file: file,
            line: found.line(at: position, of: pc),
            isLibrary: isLibrary(found, file)
        )
        name.variant = found.variant()
        return find()?.check(at: position) == check ? name : nil
    }

    /// A call about which nothing else is known: no function has this ``check``.
    static func nameless(code: UInt64, pc: UInt64) -> LanguageFrame { LanguageFrame(code: code, check: 0, pc: pc) }
    var isNameless: Bool { check == 0 }

    /// For ``check``: a hash of words that would differ for another function at the same address.
    static func check(of words: [UInt64]) -> UInt64 {
        var hash = StableHash()
        for word in words { hash.combine(word: word) }
        return hash.value | 1
    }
}

extension String {
    /// Nil if it contains characters that no name has.
    var asName: String? {
        unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f || $0.value == 0xfffd } ? nil : self
    }
}
