import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// Which object files functions come from.
struct ObjectFilesTests {
    typealias Symbol = SyntheticELF.Symbol

    private static func object(_ name: String) -> Symbol {
        Symbol(name: name, value: 0, size: 0, type: 4, binding: 0, section: 0xfff1)
    }

    private static func local(_ name: String, _ address: UInt64) -> Symbol {
        Symbol(name: name, value: address, size: 16, binding: 0)
    }

    private static func global(_ name: String, _ address: UInt64) -> Symbol { Symbol(name: name, value: address, size: 16) }

    /// As GNU ld writes it: the objects in their order, each with its local functions, then the global symbols.
    private static let program = [
        object("Scrt1.o"), object("shop.c"), local("checkout", 0x1100), local("refund", 0x1120), object("deflate.o"),
        local("longest_match", 0x1200), local("deflate_slow", 0x1240), object("trees.o"), local("build_tree", 0x1300),
        object("crtstuff.c"),
        object(""), local("hidden", 0x1260), global("price", 0x1110), global("report", 0x1140), global("deflate", 0x1220),
        global("flush", 0x1280), global("tr_align", 0x1340), global("main", 0x1350),
    ]

    private static func origins(
        _ symbols: [Symbol],
        text: [UInt8] = [],
        unwind: [UInt8] = [],
        emptyCodeSections: Int = 0
    ) throws -> [String: CodeOrigin] {
        let scratch = try ScratchDirectory()
        var file = SyntheticELF(symbols: symbols, textFlags: text.isEmpty ? 0 : 4, text: text, unwind: unwind)
        file.emptyCodeSections = emptyCodeSections
        let path = try scratch.write(file.bytes(), to: "program")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let functions = symbols.filter { $0.type == 2 }
        let found = symbolizer.resolve(
            functions.map {
                SymbolQuery(modulePath: path, buildID: SyntheticELF.buildID, offset: $0.value + 4, isReturnAddress: false)
            }
        )
        var origins: [String: CodeOrigin] = [:]
        for (symbol, function) in zip(found, functions) { origins[function.name] = try #require(symbol).origin }
        return origins
    }

    @Test func `objects not named after a source file, and the functions between them, are packaged`() throws {
        let origins = try Self.origins(Self.program)
        #expect(
            origins == [
                "checkout": .own, "refund": .own, "price": .own, "report": .between, "longest_match": .packaged,
                "deflate_slow": .packaged, "build_tree": .packaged, "deflate": .packaged, "hidden": .packaged, "flush": .packaged,
                "tr_align": .packaged, "main": .unknown,
            ]
        )
    }

    @Test func `an own object that may be between packaged ones leaves the origin open`() throws {
        var program = Self.program
        let place = try #require(program.firstIndex { $0.name == "trees.o" })
        program.insert(Self.object("cart.c"), at: place)
        let origins = try Self.origins(program)
        #expect(origins["flush"] == .between)
        #expect(origins["deflate"] == .packaged && origins["build_tree"] == .packaged)
    }

    /// The linker's optimiser writes one object for all sources; the compilers of Swift and Haskell write no source names.
    @Test(
        arguments: [
            ("ld-temp.o", "checkout"), ("shop-1.o", "$s4shop8checkoutyyF"), ("Shop.o", "r3Ab_info"),
            ("Cart.swift.o", "shop_hash"),
            ("/src/shop/kernel.o", "checkout"),
        ]
    )
    func `objects named by compilers and optimisers are not libraries`(object: String, function: String) throws {
        let program = [Self.object(object), Self.local(function, 0x1100), Self.local("refund", 0x1120)]
        #expect(try Self.origins(program)["refund"] != .packaged)
        let packaged = [Self.object("shop-1.o"), Self.local("checkout", 0x1100), Self.local("refund", 0x1120)]
        #expect(try Self.origins(packaged)["refund"] == .packaged)
    }

    /// HDF5 has such functions; GHC's are named `r3Ab_info`.
    @Test(arguments: ["H5D__chunk_info", "file_info", "get_file_info"])
    func `a C function whose name ends in info is not taken for Haskell`(function: String) throws {
        let program = [Self.object("H5Dchunk.o"), Self.local(function, 0x1100), Self.local("refund", 0x1120)]
        #expect(try Self.origins(program)["refund"] == .packaged)
    }

    /// Own code, then a library's first object, whose first functions are global.
    private static let border = [
        object("shop.c"), local("checkout", 0x1100), object("deflate.o"), local("longest_match", 0x1280),
        Symbol(name: "table", value: 0x3000, size: 64, type: 1, binding: 0, section: 5),
        object(""), global("price", 0x1140), global("report", 0x1180), global("deflate", 0x11c0), global("flush", 0x1200),
        global("crc", 0x1240),
    ]

    struct Reference: Sendable {
        let place: UInt64
        let code: [UInt8]
        let target: UInt64
        let expected: [String: CodeOrigin]

        /// Code with nothing but this reference.
        var text: [UInt8] {
            var text = ObjectFilesTests.emptyText
            let end = place + UInt64(code.count) + 4
            let distance = Int32(truncatingIfNeeded: Int64(target) - Int64(end))
            let bytes = code + withUnsafeBytes(of: distance.littleEndian) { Array($0) }
            let offset = Int(place - SyntheticELF.textAddress)
            text.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
            return text
        }
    }

    private static let references = [
        // `call longest_match`, `lea table(%rip), %rax`, `jne checkout`.
        Reference(
            place: 0x11c4,
            code: [0xe8],
            target: 0x1280,
            expected: ["report": .between, "deflate": .packaged, "flush": .packaged]
        ),
        Reference(
            place: 0x1180,
            code: [0x48, 0x8d, 0x05],
            target: 0x3000,
            expected: ["price": .between, "report": .packaged, "deflate": .packaged]
        ),
        Reference(
            place: 0x1184,
            code: [0x0f, 0x85],
            target: 0x1100,
            expected: ["price": .own, "report": .own, "deflate": .between]
        ),
        // No operand; not the beginning of a function.
        Reference(place: 0x11c4, code: [0x66], target: 0x1280, expected: ["report": .between, "deflate": .between]),
        Reference(place: 0x11c4, code: [0xe8], target: 0x1284, expected: ["report": .between, "deflate": .between]),
    ]

    @Test(arguments: references)
    func `code that refers to a local function is from the same object`(reference: Reference) throws {
        let origins = try Self.origins(Self.border, text: reference.text)
        for (function, origin) in reference.expected { #expect(origins[function] == origin, "\(function)") }
    }

    /// gcc gives a global function a local name as well; linkers make hidden functions local.
    @Test(arguments: [("deflate.localalias", 0), ("deflate_hidden", 2)] as [(String, UInt8)])
    func `code that refers to a function that is or was global may be of any object`(name: String, visibility: UInt8) throws {
        var alias = Self.local(name, 0x11c0)
        alias.visibility = visibility
        let place = try #require(Self.border.firstIndex { $0.name == "table" })
        let symbols =
            Self.border.prefix(place) + [alias] + Self.border[place...].filter { visibility == 0 || $0.name != "deflate" }
        let call = Reference(place: 0x1184, code: [0xe8], target: 0x11c0, expected: [:])
        let origins = try Self.origins(Array(symbols), text: call.text)
        #expect(origins[name] == .packaged || origins["deflate"] == .packaged, "\(origins)")
        #expect(origins["report"] == .between, "\(origins)")
    }

    /// No linker writes such a file: all local symbols come first.
    @Test func `objects after the first global symbol are ignored`() throws {
        let table = Symbol(name: "late_table", value: 0x3100, size: 64, type: 1, binding: 0, section: 5)
        let reference = Reference(place: 0x11c4, code: [0xe8], target: 0x3100, expected: [:])
        for object in ["late.c", "late.o"] {
            let origins = try Self.origins(Self.border + [Self.object(object), table], text: reference.text)
            #expect(origins["deflate"] == .between, "\(origins)")
        }
    }

    /// Each function's section is searched.
    @Test func `the code of a file with very many sections of code is not read`() throws {
        let reference = Self.references[0]
        #expect(try Self.origins(Self.border, text: reference.text, emptyCodeSections: 255)["deflate"] == .packaged)
        #expect(try Self.origins(Self.border, text: reference.text, emptyCodeSections: 256)["deflate"] == .between)
    }

    private static let emptyText = [UInt8](repeating: 0x90, count: Int(SyntheticELF.textSize))

    @Test func `the padding of unwind entries shows where objects end`() throws {
        /// They follow 17 bytes.
        let short: [UInt8] = [0, 0, 0]
        let long: [UInt8] = [0x41, 0x0e, 0x10, 0x02, 0x41, 0x0e, 0x08]
        let padded: [UInt8] = [0, 0, 0, 0, 0, 0, 0]
        func origins(_ instructions: [String: [UInt8]], others: [UInt8]) throws -> [String: CodeOrigin] {
            let functions = Self.border.filter { $0.type == 2 }.sorted { $0.value < $1.value }
            let unwind = SyntheticELF.unwind(functions.map { ($0.value, instructions[$0.name] ?? others) })
            return try Self.origins(Self.border, text: Self.emptyText, unwind: unwind)
        }
        // The first of 20 bytes, after 24, ends at 8n + 4.
        let behind = try origins([:], others: short)
        #expect(behind["price"] == .own && behind["report"] == .between && behind["crc"] == .between, "\(behind)")
        let before = try origins(["crc": short], others: long)
        #expect(before["crc"] == .packaged && before["price"] == .between && before["flush"] == .between, "\(before)")
        let last = try origins(["report": padded], others: long)
        #expect(last["price"] == .between && last["report"] == .between, "\(last)")
        #expect(last["deflate"] == .packaged && last["flush"] == .packaged && last["crc"] == .packaged, "\(last)")
        let open = try origins([:], others: long)
        #expect(Set(open.filter { $0.key != "checkout" && $0.key != "longest_match" }.values) == [.between], "\(open)")
    }

    /// `price` is of an own object without local functions; the name of that object follows shop.c's.
    @Test func `an own object without a local function is the next one`() throws {
        let padded: [UInt8] = [0, 0, 0, 0, 0, 0, 0]
        let open: [UInt8] = [0x41, 0x0e, 0x10, 0x02, 0x41, 0x0e, 0x08]
        func origins(_ objects: [String]) throws -> [String: CodeOrigin] {
            let symbols =
                [Self.object("shop.c"), Self.local("checkout", 0x1100)] + objects.map(Self.object)
                + [
                    Self.object("deflate.o"), Self.local("longest_match", 0x1280), Self.object(""), Self.global("price", 0x1140),
                    Self.global("report", 0x1180), Self.global("deflate", 0x11c0), Self.global("flush", 0x1200),
                ]
            let functions = symbols.filter { $0.type == 2 }.sorted { $0.value < $1.value }
            let ends = ["checkout", "price"]
            let unwind = SyntheticELF.unwind(functions.map { ($0.value, ends.contains($0.name) ? padded : open) })
            return try Self.origins(symbols, text: Self.emptyText, unwind: unwind)
        }
        let next = try origins(["price.c"])
        #expect(next["checkout"] == .own && next["price"] == .between, "\(next)")
        #expect(next["report"] == .packaged && next["deflate"] == .packaged && next["flush"] == .packaged, "\(next)")
        // It may be anywhere among the packaged ones; it is one of two.
        for objects in [["trees.o", "price.c"], ["price.c", "refund.c"]] {
            #expect(try origins(objects)["flush"] == .between, "\(objects)")
        }
    }

    /// What the compilers and binutils of this machine produce.
    @Test(.enabled(if: Compiler.c != nil && Compiler.gnuLinker != nil)) func `a stripped archive is a library`() throws {
        let compiler = try #require(Compiler.c)
        let scratch = try ScratchDirectory()
        let folder = scratch.path
        _ = try scratch.write(
            Array(
                "static int __attribute__((noinline)) inner(int n) { return n * 7; }\nint outer(int n) { return inner(n) + 1; }\n"
                    .utf8
            ),
            to: "library.c"
        )
        _ = try scratch.write(
            Array("int outer(int);\nstatic int __attribute__((noinline)) checkout(int n) { return outer(n); }\n".utf8)
                + Array("int main(int count, char **arguments) { (void)arguments; return checkout(count); }\n".utf8),
            to: "shop.c"
        )
        try Compiler.run(compiler, ["-O1", "-c", "library.c", "-o", "library.o"], in: folder)
        try Compiler.run(compiler, ["-O1", "-c", "shop.c", "-o", "shop.o"], in: folder)
        try run("strip", "-g", "\(folder)/library.o")
        try Compiler.run(compiler, ["-fuse-ld=bfd", "shop.o", "library.o", "-o", "shop"], in: folder)
        let origins = try CompiledProgram.origins(of: ["inner", "outer", "checkout"], in: folder, "shop")
        #expect(origins["inner"] == .packaged)
        #expect(origins["checkout"] == .own)
        #if arch(x86_64)
            #expect(origins["outer"] == .packaged)
        #else
            #expect(origins["outer"] != .own)
        #endif
    }
}
