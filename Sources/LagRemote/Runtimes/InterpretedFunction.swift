internal import LagCapture
internal import LagModel

/// A function of a language whose virtual machine runs calls in groups, as somewhere in another process's memory: what is read of it, and checked.
protocol InterpretedFunction {
    /// Of what another function at the same place would have otherwise, or another place in it at this position.
    func check(at position: UInt64) -> UInt64

    /// Which of its instructions a call's counter belongs to; nil where the counter is not in this function.
    func position(of counter: UInt64) -> UInt64?

    /// As the language's own stack traces name it.
    func label() -> String?

    /// The file of an instruction, and its line, counted from 1.
    func file(at position: UInt64) -> String?
    func line(at position: UInt64) -> Int?

    /// Of a function without a name of its own: ``LanguageFrameName/variant``. Nil of others, and where it cannot be read.
    func variant() -> String?

    /// The line of an operation, where positions are statements, which may have several.
    func line(at position: UInt64, of operation: UInt64) -> Int?
}

extension InterpretedFunction {
    func line(at position: UInt64, of operation: UInt64) -> Int? { line(at: position) }
}

/// A call of such a function: where the machine has the function, and how far it has come in it.
struct InterpretedCall {
    let function: UInt64
    let counter: UInt64
    /// The address that the record shows, where that is another one: of the operation, where counters are statements.
    var operation: UInt64?
}

extension [[InterpretedCall]] {
    /// The frames of these groups. Of a call whose counter is not in its function there is a frame without a name: what it calls was not called by the one before.
    /// - Parameter find: reads the function at a place; asked once for each.
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
        // Copying has ended there: what is further out is absent.
        while let group = found.last, let last = group.last, last.isNameless { found[found.count - 1].removeLast() }
        return found
    }
}

extension [StackEntry] {
    /// Each call of the function that runs a language's frames, with the group of them that it runs in its place.
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
        // The stack of C was not walked to its end: the order of what is left is known all the same.
        for group in rest { merged += group.map { .language($0) } }
        return merged
    }
}

extension LanguageFrame {
    /// Its name, as the function is now; nil where that is another one, or becomes one while it is read.
    /// - Parameters:
    ///   - find: reads the function.
    ///   - isLibrary: what the runtime says of that.
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

    /// A call of which nothing else is known: no function has this ``check``.
    static func nameless(code: UInt64, pc: UInt64) -> LanguageFrame { LanguageFrame(code: code, check: 0, pc: pc) }
    var isNameless: Bool { check == 0 }

    /// For ``check``: of words that another function at the same place would have otherwise.
    static func check(of words: [UInt64]) -> UInt64 {
        var hash = StableHash()
        for word in words { hash.combine(word: word) }
        return hash.value | 1
    }
}

extension String {
    /// Nil where it holds characters that no name has.
    var asName: String? {
        unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f || $0.value == 0xfffd } ? nil : self
    }
}
