internal import LagModel

/// Finds the object files of global functions by their references: only code of the same object can refer to a local function or
/// variable.
///
///     FILE deflate.o
///     FUNC longest_match        local
///     …
///     FUNC deflate              global; holds `call longest_match`: of deflate.o, too
///
/// It searches for relative operands of x86-64 (calls, jumps, addresses) that lead to the first byte of a local symbol. Other
/// bytes lead to one only by accident: one position in a million, in a program with a thousand such symbols. Functions that refer
/// to objects of different origins are left out.
struct ObjectReferences {
    struct Function {
        let address: UInt64
        let size: UInt64
        let section: UInt16
    }

    /// Longer functions are read up to here.
    private static let maximumFunctionBytes: UInt64 = 1 << 16
    /// The limit for all functions together.
    static let maximumBytes = 16 << 20
    static let maximumFunctions = 1 << 16

    private(set) var anchors: [ObjectFiles.Anchor] = []

    /// Reads the symbol table once, and the code of the functions.
    /// - Parameters:
    ///   - code: the file with the code.
    ///   - isOpen: whether the origin of the function at an address is not known yet.
    init(
        in file: borrowing ELFFile,
        table: ELFFile.Section,
        code: borrowing ELFFile,
        locals: LocalSymbols,
        isOpen: (UInt64) -> Bool
    ) {
        guard code.isX86 else { return }
        let places = locals.referable(in: file, table: table)
        var left = Self.maximumBytes
        let functions = Self.functions(in: file, table) { !$0.isLocal && isOpen($0.address) }
        for function in functions where left > 0 {
            let found = Self.targets(of: function, in: code, left: &left).compactMap {
                places[$0].flatMap { locals.symbols[$0].object }
            }
            guard let first = found.first,
                found.allSatisfy({ locals.origins[$0] == locals.origins[first] })
            else { continue }
            anchors.append(ObjectFiles.Anchor(address: function.address, file: first, section: function.section))
        }
    }

    /// At most ``maximumFunctions``.
    static func functions(
        in file: borrowing ELFFile,
        _ table: ELFFile.Section,
        where isRequested: (ELFFile.Symbol) -> Bool
    ) -> [Function] {
        var functions: [Function] = []
        file.forEachSymbol(of: table) { symbol in
            if symbol.isFunction, symbol.size > 0, isRequested(symbol) {
                functions.append(Function(address: symbol.address, size: symbol.size, section: symbol.section))
            }
            return functions.count < maximumFunctions
        }
        return functions
    }

    /// - Parameter left: how many more bytes may be read; without any, there are no targets.
    static func targets(of function: Function, in code: borrowing ELFFile, left: inout Int) -> [UInt64] {
        guard left > 0 else { return [] }
        let bytes = code.code(at: function.address, count: Int(min(function.size, maximumFunctionBytes)))
        left -= bytes.count
        return targets(of: bytes, at: function.address)
    }

    /// The destinations of relative operands.
    private static func targets(of code: [UInt8], at address: UInt64) -> [UInt64] {
        guard code.count > 4 else { return [] }
        let bytes = LittleEndianBytes(code)
        var targets: [UInt64] = []
        for place in 1...(code.count - 4) {
            let before = code[place - 1]
            // `call`, `jmp`; a ModRM byte that means an address relative to the next instruction; `0f 8x`, a conditional jump.
            guard
                before == 0xe8 || before == 0xe9 || before & 0xc7 == 0x05
                    || (before & 0xf0 == 0x80 && place > 1 && code[place - 2] == 0x0f)
            else { continue }
            let distance = UInt64(bitPattern: Int64(Int32(bitPattern: bytes.u32(place))))
            targets.append(address &+ UInt64(place + 4) &+ distance)
        }
        return targets
    }
}
