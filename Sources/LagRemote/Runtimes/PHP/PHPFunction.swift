internal import LagModel

/// A PHP function in another process's memory: written in PHP, or of an extension.
struct PHPFunction: InterpretedFunction {
    /// Of an extension, and written in PHP: `ZEND_INTERNAL_FUNCTION`, `ZEND_USER_FUNCTION` (`zend_compile.h`).
    private static let extensions: UInt8 = 1
    static let user: UInt8 = 2

    private static let internalBytes = 24
    private static let maximumTextBytes: UInt64 = 4096
    private static let maximumInstructions: UInt32 = 1 << 24
    private static let maximumVariantInstructions: UInt32 = 2048
    private static let maximumVariantNames = 32
    /// `IS_CONST`.
    private static let constant: UInt8 = 1
    private static let closure = "{closure}"

    private let layout: PHPLayout
    private let read: (_ address: UInt64, _ count: Int) -> [UInt8]?
    private let head: [UInt8]
    /// Whether it is written in PHP.
    let isUsers: Bool

    /// Nil if there is none.
    init?(_ layout: PHPLayout, at address: UInt64, read: @escaping (_ address: UInt64, _ count: Int) -> [UInt8]?) {
        guard address % 8 == 0, let start = read(address, Self.internalBytes), let kind = start.first else { return nil }
        self.layout = layout
        self.read = read
        switch kind {
        case Self.extensions: (isUsers, head) = (false, start)
        case Self.user:
            guard let whole = read(address, layout.functionBytes) else { return nil }
            (isUsers, head) = (true, whole)
            let (file, code) = (field(layout.functionFile), field(layout.functionCode))
            guard file != 0, code != 0, (file | code) % 8 == 0, count > 0, count <= Self.maximumInstructions else { return nil }
        default: return nil
        }
    }

    private func field(_ offset: UInt64) -> UInt64 { head.number(at: Int(offset)) ?? 0 }

    private var count: UInt32 { head.number(at: Int(layout.functionCount)) ?? 0 }

    func check(at _: UInt64) -> UInt64 {
        let offsets = [layout.functionName, layout.functionClass] + (isUsers ? [layout.functionCode, layout.functionFile] : [])
        return LanguageFrame.check(of: offsets.map(field))
    }

    /// The index of the instruction at an address; nil if it is not one of them, `.max` for the address 0. 0 for an extension's
    /// function.
    func position(of instruction: UInt64) -> UInt64? {
        guard isUsers else { return 0 }
        guard instruction != 0 else { return .max }
        let code = field(layout.functionCode)
        guard instruction >= code, (instruction - code) % layout.instructionBytes == 0 else { return nil }
        let position = (instruction - code) / layout.instructionBytes
        return position < UInt64(count) ? position : nil
    }

    /// `Shop::checkout`, `{closure}`; `{main}` for code outside functions. Nil: no readable name.
    func label() -> String? {
        guard field(layout.functionName) != 0 else { return isUsers ? "{main}" : nil }
        guard let name = text(field(layout.functionName)) else { return nil }
        guard field(layout.functionClass) != 0, let place = word(field(layout.functionClass) &+ layout.className),
            let className = text(place)
        else { return name }
        return "\(className)::\(name)"
    }

    func file(at _: UInt64) -> String? { isUsers ? text(field(layout.functionFile)) : nil }

    /// The line of an instruction, counted from 1.
    func line(at position: UInt64) -> Int? {
        guard isUsers, position < UInt64(count) else { return nil }
        let place = field(layout.functionCode) &+ position &* layout.instructionBytes &+ layout.instructionLine
        guard let line: UInt32 = read(place, 4)?.number(at: 0), line > 0, line < UInt32(Int32.max) else { return nil }
        return Int(line)
    }

    /// All closures of a class have the same name: this distinguishes them by the number of lines, the parameters' names, and the
    /// names that it uses, independent of its place in the file. opcache's optimizer keeps these; it drops or changes other
    /// instructions and variables.
    func variant() -> String? {
        guard isUsers, label()?.hasSuffix(Self.closure) == true, count <= Self.maximumVariantInstructions,
            let code = read(field(layout.functionCode), Int(count) * Int(layout.instructionBytes)),
            let first: UInt32 = head.number(at: Int(layout.functionFirstLine)),
            let last: UInt32 = head.number(at: Int(layout.functionLastLine))
        else { return nil }
        var hash = StableHash()
        hash.combine(word: UInt64(last &- first))
        for name in parameters() + names(in: code) {
            for byte in name.lowercased().utf8 { hash.combine(word: UInt64(byte)) }
            hash.combine(word: 0)
        }
        return hash.text
    }

    private func parameters() -> [String] {
        let count: UInt32 = head.number(at: Int(layout.functionParameterCount)) ?? 0
        return (0..<min(Int(count), Self.maximumVariantNames)).map { index in
            word(field(layout.functionParameters) &+ UInt64(index) &* layout.parameterBytes).flatMap(text) ?? ""
        }
    }

    /// The names of called functions and methods, of properties and elements, in order, if they are literals.
    private func names(in code: [UInt8]) -> [String] {
        var names: [String] = []
        for index in 0..<Int(count) where names.count < Self.maximumVariantNames {
            let place = index * Int(layout.instructionBytes)
            guard layout.namingKinds.contains(code[place + layout.instructionKind]),
                code[place + layout.instructionOperandKind] == Self.constant,
                // From the instruction to a `zval`, whose first word is the string's address.
                let distance: Int32 = code.number(at: place + layout.instructionOperand)
            else { continue }
            let value = field(layout.functionCode) &+ UInt64(place) &+ UInt64(bitPattern: Int64(distance))
            guard read(value &+ layout.valueKind, 1)?.first == layout.textKind else { continue }
            names.append(word(value).flatMap(text) ?? "")
        }
        return names
    }

    private func word(_ address: UInt64) -> UInt64? { read(address, 8)?.number(at: 0) }

    private func text(_ string: UInt64) -> String? {
        guard string % 8 == 0, let count = word(string &+ layout.stringLength), count > 0, count <= Self.maximumTextBytes,
            // In the name of an anonymous class, its location follows `class@anonymous`.
            let bytes = read(string &+ layout.stringBytes, Int(count))?.prefix(while: { $0 != 0 }), !bytes.isEmpty
        else { return nil }
        return String(decoding: bytes, as: UTF8.self).asName
    }
}
