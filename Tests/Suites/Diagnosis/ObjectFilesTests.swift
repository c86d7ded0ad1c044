import Foundation
import LagDiagnosis
import Testing

/// Whose object files functions come from.
struct ObjectFilesTests {
    typealias Symbol = SyntheticELF.Symbol

    private static func object(_ name: String) -> Symbol {
        Symbol(name: name, value: 0, size: 0, type: 4, binding: 0, section: 0xfff1)
    }

    private static func local(_ name: String, _ address: UInt64) -> Symbol {
        Symbol(name: name, value: address, size: 16, binding: 0)
    }

    private static func global(_ name: String, _ address: UInt64) -> Symbol { Symbol(name: name, value: address, size: 16) }

    /// As GNU ld writes it: the objects in their order, each with its local functions, then what is global.
    private static let program = [
        object("Scrt1.o"), object("shop.c"), local("checkout", 0x1100), local("refund", 0x1120), object("deflate.o"),
        local("longest_match", 0x1200), local("deflate_slow", 0x1240), object("trees.o"), local("build_tree", 0x1300),
        object("crtstuff.c"),
        object(""), local("hidden", 0x1260), global("price", 0x1110), global("report", 0x1140), global("deflate", 0x1220),
        global("flush", 0x1280), global("tr_align", 0x1340), global("main", 0x1350),
    ]

    private static func origins(_ symbols: [Symbol]) throws -> [String: CodeOrigin] {
        let scratch = try ScratchDirectory()
        let path = try scratch.write(SyntheticELF(symbols: symbols).bytes(), to: "program")
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

    @Test func `objects without their sources names are packaged, and so is what lies between them`() throws {
        let origins = try Self.origins(Self.program)
        #expect(
            origins == [
                "checkout": .own, "refund": .own, "price": .own, "report": .between, "longest_match": .packaged,
                "deflate_slow": .packaged, "build_tree": .packaged, "deflate": .packaged, "hidden": .packaged, "flush": .packaged,
                "tr_align": .packaged, "main": .unknown,
            ]
        )
    }

    @Test func `an own object that may lie between packaged ones leaves that open`() throws {
        var program = Self.program
        let place = try #require(program.firstIndex { $0.name == "trees.o" })
        program.insert(Self.object("cart.c"), at: place)
        let origins = try Self.origins(program)
        #expect(origins["flush"] == .between)
        #expect(origins["deflate"] == .packaged && origins["build_tree"] == .packaged)
    }

    /// The linker's own optimiser writes one object of all sources; Swift's and Haskell's compilers write no source's name.
    @Test(
        arguments: [
            ("ld-temp.o", "checkout"), ("shop-1.o", "$s4shop8checkoutyyF"), ("Shop.o", "r3Ab_info"),
            ("Cart.swift.o", "shop_hash"),
            ("/src/shop/kernel.o", "checkout"),
        ]
    )
    func `objects that are no librarys`(object: String, function: String) throws {
        let program = [Self.object(object), Self.local(function, 0x1100), Self.local("refund", 0x1120)]
        #expect(try Self.origins(program)["refund"] != .packaged)
        let packaged = [Self.object("shop-1.o"), Self.local("checkout", 0x1100), Self.local("refund", 0x1120)]
        #expect(try Self.origins(packaged)["refund"] == .packaged)
    }

    @Test func `an object without a name is one that gcc made of the whole program`() throws {
        let program = Self.program.map { $0.name == "shop.c" ? Self.object("") : $0 }
        let origins = try Self.origins(program)
        #expect(origins["checkout"] == .own && origins["price"] == .own && origins["deflate"] == .packaged)
    }

    @Test func `without packaged objects nothing is said`() throws {
        let origins = try Self.origins([Self.object("shop.c"), Self.local("checkout", 0x1100), Self.global("report", 0x1140)])
        #expect(Set(origins.values) == [.unknown])
    }

    /// What compilers and binutils of this machine make of it.
    @Test(.enabled(if: Compiler.c != nil)) func `a stripped archive is a library`() throws {
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
        try Compiler.run("/usr/bin/env", ["ld.bfd", "--version"], in: folder)
        try Compiler.run(compiler, ["-fuse-ld=bfd", "shop.o", "library.o", "-o", "shop"], in: folder)
        let table = try Compiler.run("/usr/bin/env", ["nm", "shop"], in: folder).split(separator: "\n").map {
            $0.split(separator: " ")
        }
        func origin(_ name: String) throws -> CodeOrigin {
            let line = try #require(table.first { $0.last == Substring(name) })
            let query = SymbolQuery(
                modulePath: "\(folder)/shop",
                buildID: "",
                offset: try #require(UInt64(line[0], radix: 16)) + 1,
                isReturnAddress: false
            )
            var symbolizer = Symbolizer(debugRoot: folder)
            return try #require(symbolizer.resolve([query])[0]).origin
        }
        #expect(try origin("inner") == .packaged)
        #expect(try origin("checkout") == .own)
        #expect(try origin("outer") != .own)
    }
}
