import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// Programs of linkers that do not write the names of packaged objects.
struct UnnamedObjectsTests {
    typealias Symbol = SyntheticELF.Symbol

    /// The symbols between the functions of `shop.c` and those of a library: local ones are in the order of the objects.
    private struct Program {
        /// The name of a function, whether it is local, and the bytes after it.
        let functions: [(name: String, isLocal: Bool, padding: [UInt8])]
        /// Each refers to a local variable.
        var references: [(function: String, variable: String)] = []
        /// The function before the name of the start-up code.
        var startUp: String?
        /// Hidden functions: local ones that were global.
        var hidden: Set<String> = []
        /// The local variables, by the function before them in the table.
        var variables: [String: String] = [:]

        private static func object(_ name: String) -> Symbol {
            Symbol(name: name, value: 0, size: 0, type: 4, binding: 0, section: 0xfff1)
        }

        private static let functionBytes = 16
        private static let variables: UInt64 = 0x4000

        private var addresses: [String: UInt64] {
            var address = SyntheticELF.textAddress
            var addresses: [String: UInt64] = [:]
            for function in functions {
                addresses[function.name] = address
                address += UInt64(Self.functionBytes + function.padding.count)
            }
            for (place, variable) in variables.values.sorted().enumerated() {
                addresses[variable] = Self.variables + UInt64(place) * 8
            }
            return addresses
        }

        func file(by linker: [(name: String, content: [UInt8])]) -> SyntheticELF {
            let addresses = addresses
            var symbols = [Self.object("shop.c")]
            var text: [UInt8] = []
            for (name, isLocal, padding) in functions {
                let address = addresses[name] ?? 0
                if isLocal {
                    let visibility: UInt8 = hidden.contains(name) ? 2 : 0
                    symbols.append(Symbol(name: name, value: address, size: 16, binding: 0, visibility: visibility))
                }
                if name == startUp { symbols.append(Self.object("crtstuff.c")) }
                if let variable = variables[name] {
                    symbols.append(Symbol(name: variable, value: addresses[variable] ?? 0, size: 8, type: 1, binding: 0))
                }
                var code = [UInt8](repeating: 0x90, count: Self.functionBytes)
                for (place, reference) in references.filter({ $0.function == name }).enumerated() {
                    // `lea variable(%rip), %rax`
                    let end = address + UInt64(place * 8) + 7
                    let distance = Int32(truncatingIfNeeded: Int64(addresses[reference.variable] ?? 0) - Int64(end))
                    code.replaceSubrange(
                        (place * 8)..<(place * 8 + 7),
                        with: [0x48, 0x8d, 0x05] + withUnsafeBytes(of: distance.littleEndian) { Array($0) }
                    )
                }
                text += code + padding
            }
            for (name, isLocal, _) in functions where !isLocal {
                symbols.append(Symbol(name: name, value: addresses[name] ?? 0, size: 16))
            }
            text += [UInt8](repeating: 0x90, count: Int(SyntheticELF.textSize) - text.count)
            let unwind = SyntheticELF.unwind(functions.map { (addresses[$0.name] ?? 0, [0, 0, 0]) }, entriesOf: 8)
            var file = SyntheticELF(symbols: symbols, textFlags: 4, text: text, unwind: unwind)
            file.linker = linker
            return file
        }

        func origins(by linker: [(name: String, content: [UInt8])]) throws -> [String: CodeOrigin] {
            let scratch = try ScratchDirectory()
            let path = try scratch.write(file(by: linker).bytes(), to: "program")
            var symbolizer = Symbolizer(debugRoot: scratch.path)
            var origins: [String: CodeOrigin] = [:]
            for (name, address) in addresses where functions.contains(where: { $0.name == name }) {
                let query = SymbolQuery(
                    modulePath: path,
                    buildID: SyntheticELF.buildID,
                    offset: address + 4,
                    isReturnAddress: false
                )
                origins[name] = try #require(symbolizer.resolve([query])[0]).origin
            }
            return origins
        }
    }

    private static let lld = [(name: ".comment", content: Array("GCC: (Debian)\0Linker: LLD 21.0.0\0".utf8))]
    private static let gold = [
        (name: ".comment", content: Array("GCC: (Debian)\0".utf8)),
        (name: ".note.gnu.gold-version", content: [UInt8](repeating: 0, count: 8)),
    ]
    private static let trap = [UInt8](repeating: 0xcc, count: 16)
    /// What GNU's assembler writes for 16 bytes and for 13.
    private static let nops: [UInt8] = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0]
    private static let shortNops: [UInt8] = [0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x66, 0x90]
    /// What gold writes for 13.
    private static let longNop: [UInt8] = [0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]

    @Test func `with lld, what follows the end of an own object's section is packaged`() throws {
        let program = Program(functions: [
            ("checkout", true, Self.nops), ("refund", true, Self.nops), ("price", false, Self.trap),
            ("deflate", false, Self.nops), ("longest_match", true, Self.nops), ("flush", false, Self.trap),
            ("crc", false, Self.nops), ("crc_step", true, []),
        ])
        let own = try program.origins(by: Self.lld)
        #expect(own["checkout"] == .own && own["refund"] == .own && own["price"] == .own, "\(own)")
        for function in ["deflate", "longest_match", "flush", "crc", "crc_step"] {
            #expect(own[function] == .packaged, "\(function)")
        }
        // GNU ld writes names: without any there is no such object.
        let gnu = try program.origins(by: [])
        #expect(Set(gnu.values) == [.unknown], "\(gnu)")
    }

    /// Members of archives that lld and gold add last.
    @Test func `what follows the name of the start-up code at the end is packaged`() throws {
        var program = Program(functions: [
            ("checkout", true, Self.nops), ("refund", true, Self.trap), ("inflate", true, []),
        ])
        program.startUp = "refund"
        #expect(try program.origins(by: Self.lld)["inflate"] == .packaged)
        #expect(try program.origins(by: Self.lld)["refund"] == .own)
    }

    /// gold writes what it makes local after everything else.
    @Test(arguments: [true, false]) func `with gold, hidden functions are of any object`(withStartUp: Bool) throws {
        var program = Program(functions: [
            ("checkout", true, Self.shortNops), ("refund", true, Self.longNop), ("hidden", true, []), ("other", true, []),
        ])
        program.hidden = ["hidden", "other"]
        if withStartUp { program.startUp = "refund" }
        let origins = try program.origins(by: Self.gold)
        #expect(!origins.values.contains(.packaged), "\(origins)")
    }

    @Test func `an initialiser behind an object's section is not the next object`() throws {
        let program = Program(functions: [
            ("checkout", true, Self.nops), ("refund", true, Self.trap), ("_GLOBAL__sub_I_shop", true, Self.trap),
            ("longest_match", true, Self.nops), ("crc_step", true, []),
        ])
        let origins = try program.origins(by: Self.lld)
        #expect(origins["_GLOBAL__sub_I_shop"] != .packaged && origins["longest_match"] == .packaged, "\(origins)")
    }

    @Test func `global functions of the same section show the object's variables`() throws {
        let program = Program(
            functions: [
                ("checkout", true, Self.nops), ("price", false, Self.trap), ("cancel", true, Self.trap),
                ("longest_match", true, Self.nops), ("crc_step", true, []),
            ],
            references: [("price", "total"), ("cancel", "total")],
            variables: ["checkout": "total"]
        )
        let origins = try program.origins(by: Self.lld)
        #expect(origins["price"] == .own && origins["cancel"] == .own && origins["longest_match"] == .packaged, "\(origins)")
    }

    @Test func `functions with sections of their own are not separated`() throws {
        let functions = ["checkout", "refund", "longest_match"].map { ($0, true, Self.trap) }
        let origins = try Program(functions: functions).origins(by: Self.lld)
        #expect(Set(origins.values) == [.unknown], "\(origins)")
    }

    @Test func `with gold, long padding and references separate the objects`() throws {
        var program = Program(
            functions: [
                ("checkout", true, Self.shortNops), ("refund", true, []), ("cancel", true, []), ("price", false, []),
                ("inner", true, Self.longNop), ("longest_match", true, []), ("crc_step", true, []),
            ],
            references: [("checkout", "total"), ("cancel", "total"), ("price", "total")],
            variables: ["checkout": "total"]
        )
        program.startUp = "crc_step"
        let origins = try program.origins(by: Self.gold)
        // `cancel` and `price` refer to the same variable as `checkout`, and `refund` is between them.
        for function in ["checkout", "refund", "cancel", "price"] { #expect(origins[function] == .own, "\(function)") }
        // It may be the end of `shop.c`, or of an object of the library.
        #expect(origins["inner"] == .between)
        #expect(origins["longest_match"] == .packaged && origins["crc_step"] == .packaged)
    }

    /// What a linker of this machine produces.
    @Test(.enabled(if: Compiler.c != nil && Compiler.lld != nil)) func `a stripped archive is a library with lld`() throws {
        let compiler = try #require(Compiler.c)
        let scratch = try ScratchDirectory()
        let folder = scratch.path
        let library = """
            static int table[4];
            static int __attribute__((noinline)) inner(int n) { return n * 7 + table[n & 3]; }
            int __attribute__((noinline)) outer(int n) { table[n & 3] = n; return inner(n) + 1; }
            """
        let shop = """
            int outer(int);
            static int total;
            static int __attribute__((noinline)) checkout(int n) { total += n; return outer(n) + 3; }
            int __attribute__((noinline)) refund(int n) { total -= n; return checkout(n) * 5; }
            int main(int count, char **arguments) { (void)arguments; return refund(count) + checkout(2); }
            """
        _ = try scratch.write(Array(library.utf8), to: "library.c")
        _ = try scratch.write(Array(shop.utf8), to: "shop.c")
        try Compiler.run(compiler, ["-O1", "-c", "library.c", "-o", "library.o"], in: folder)
        try Compiler.run(compiler, ["-O1", "-c", "shop.c", "-o", "shop.o"], in: folder)
        try run("strip", "-g", "\(folder)/library.o")
        try Compiler.run(compiler, ["-fuse-ld=lld", "shop.o", "library.o", "-o", "shop"], in: folder)
        let origins = try CompiledProgram.origins(of: ["inner", "outer", "checkout", "refund"], in: folder, "shop")
        #if arch(x86_64)
            #expect(origins["inner"] == .packaged && origins["outer"] == .packaged, "\(origins)")
            #expect(origins["checkout"] == .own && origins["refund"] == .own, "\(origins)")
        #endif
    }
}
