/// Perl code in another process's memory: a function, code of `eval` or `require`, or code outside functions.
struct PerlFunction: InterpretedFunction {
    /// Kinds of values, and flags (`sv.h`, `cv.h`).
    private enum Kind {
        static let mask: UInt32 = 0xff
        static let glob: UInt32 = 9
        static let hash: UInt32 = 12
        static let codes: ClosedRange<UInt32> = 13...14
        static let hasPackageName: UInt32 = 0x0200_0000
    }
    private enum Flag {
        static let isCompiledC: UInt32 = 0x8
        static let isNamed: UInt32 = 0x8000
    }

    static let valueBytes = 24
    private static let maximumNameBytes: Int32 = 1024
    private static let maximumPathBytes = 4096
    private static let evaluated = "(eval"
    private static let nameless = "::__ANON__"

    private let program: PerlProgram
    private var layout: PerlLayout { program.layout }
    private let read: (_ address: UInt64, _ count: Int) -> [UInt8]?
    private let address: UInt64
    private let body: [UInt8]

    /// Nil if there is none.
    init?(_ program: PerlProgram, at address: UInt64, read: @escaping (_ address: UInt64, _ count: Int) -> [UInt8]?) {
        self.program = program
        self.read = read
        let layout = program.layout
        guard address % 8 == 0, let head = read(address, Self.valueBytes),
            let flags: UInt32 = head.number(at: Int(layout.valueFlags)), Kind.codes.contains(flags & Kind.mask),
            let place: UInt64 = head.number(at: Int(layout.valueBody)), let body = read(place, layout.codeBytes)
        else { return nil }
        self.address = address
        self.body = body
        guard flag(Flag.isCompiledC) == false else { return nil }
    }

    private func field(_ offset: UInt64) -> UInt64 { body.number(at: Int(offset)) ?? 0 }

    private func flag(_ flag: UInt32) -> Bool {
        guard let flags: UInt32 = body.number(at: Int(layout.codeFlags)) else { return false }
        return flags & flag != 0
    }

    private func statement(at position: UInt64) -> [UInt8]? { read(position, layout.statementBytes) }

    /// Of the statement, too, which is a place in memory itself.
    func check(at position: UInt64) -> UInt64 {
        let statement = statement(at: position)
        let words = [layout.statementFunction, layout.statementFile].map { statement?.number(at: Int($0)) ?? 0 as UInt64 }
        let line: UInt32 = statement?.number(at: Int(layout.statementLine)) ?? 0
        return LanguageFrame.check(
            of: [layout.codeRoot, layout.codeName, layout.codePackage].map(field) + words + [UInt64(line)]
        )
    }

    /// A statement is its own position; nil where none is there.
    func position(of statement: UInt64) -> UInt64? {
        guard statement % 8 == 0, let function: UInt64 = self.statement(at: statement)?.number(at: Int(layout.statementFunction))
        else { return nil }
        // While a file is compiled, the interpreter has the position in the form of a statement that is never run.
        return program.statementFunctions.contains(function) || statement == program.interpreter &+ layout.compiling
            ? statement : nil
    }

    /// As `caller` names it: `Shop::checkout`, `main::__ANON__`, `(eval)` of what `eval` or `require` reads; of what is outside of all
    /// functions `main::RUNTIME`, as profilers have it.
    func label() -> String? {
        let place = field(layout.codeName)
        if place == 0 {
            guard let main = word(program.interpreter &+ layout.mainCode) else { return nil }
            return address == main ? "main::RUNTIME" : "(eval)"
        }
        if flag(Flag.isNamed) { return qualified(place, package: field(layout.codePackage)) }
        guard let glob = value(at: place, Kind.glob), let name = word(glob &+ layout.globName),
            let package = word(glob &+ layout.globPackage)
        else { return nil }
        return qualified(name, package: package)
    }

    /// All anonymous functions of a package have the same name: this distinguishes them by the kinds of their operations,
    /// independent of the place in the file.
    func variant() -> String? {
        label()?.hasSuffix(Self.nameless) == true ? PerlOperation(layout, read).shape(of: field(layout.codeRoot)) : nil
    }

    private func qualified(_ name: UInt64, package: UInt64) -> String? {
        guard let name = text(name), let hash = value(at: package, Kind.hash, with: Kind.hasPackageName),
            var place = word(hash &+ layout.packageName)
        else { return nil }
        if read(hash &+ layout.packageNameCount, 4)?.number(at: 0, as: UInt32.self) != 0 {
            guard let first = word(place) else { return nil }
            place = first
        }
        return text(place).map { "\($0)::\(name)" }
    }

    /// Nil for code that `eval` compiles from a string.
    func file(at position: UInt64) -> String? {
        guard let place: UInt64 = statement(at: position)?.number(at: Int(layout.statementFile)),
            let path = RemoteMemory.text(place, limit: Self.maximumPathBytes, read)?.asName, !path.hasPrefix(Self.evaluated)
        else { return nil }
        return path
    }

    /// The line at which the statement begins, counted from 1.
    func line(at position: UInt64) -> Int? {
        guard let line: UInt32 = statement(at: position)?.number(at: Int(layout.statementLine)), line > 0,
            line < UInt32(Int32.max)
        else { return nil }
        return Int(line)
    }

    func line(at position: UInt64, of operation: UInt64) -> Int? {
        line(at: PerlOperation(layout, read).statement(of: operation, after: position) ?? position)
    }

    /// The body of a value of this kind.
    private func value(at place: UInt64, _ kind: UInt32, with flag: UInt32 = 0) -> UInt64? {
        guard place % 8 == 0, let head = read(place, Self.valueBytes),
            let flags: UInt32 = head.number(at: Int(layout.valueFlags)),
            flags & Kind.mask == kind, flags & flag == flag
        else { return nil }
        return head.number(at: Int(layout.valueBody))
    }

    private func word(_ address: UInt64) -> UInt64? { read(address, 8)?.number(at: 0) }

    private func text(_ name: UInt64) -> String? {
        guard let count: Int32 = read(name &+ layout.nameLength, 4)?.number(at: 0), count > 0, count <= Self.maximumNameBytes,
            let bytes = read(name &+ layout.nameBytes, Int(count))
        else { return nil }
        return String(decoding: bytes, as: UTF8.self).asName
    }
}
