import LagDiagnosis
import TestSupport
import Testing

/// Which modules a program was built from, by the paths of its sources.
struct SourceModulesTests {
    @Test(.enabled(if: Compiler.c != nil)) func `the paths in the line table name a program's modules`() throws {
        let scratch = try ScratchDirectory()
        let checkouts = "/src/shop/.build/checkouts"
        let paths = [
            "\(checkouts)/swift-nio/Sources/NIOCore/Channel.swift", "\(checkouts)/GRDB.swift/GRDB/Core/Database.swift",
            "\(checkouts)/BigInt/Sources/Addition.swift", "/src/shop/Sources/Shop/Order.swift",
        ]
        let functions = paths.enumerated().map { "#line 1 \"\($1)\"\nint f\($0)(void) { return getpid(); }\n" }.joined()
        let text = "#include <unistd.h>\n\(functions)int main(void) { return pause() + f0() + f1() + f2() + f3(); }\n"
        _ = try scratch.write(Array(text.utf8), to: "shop.c")
        try Compiler.run(try #require(Compiler.c), ["-g", "shop.c", "-o", "shop"], in: scratch.path)
        let modules = SourceModules(inFile: scratch.path + "/shop")
        #expect(modules.dependencies == ["NIOCore", "GRDB", "BigInt"] && modules.own == ["Shop"], "\(modules)")
    }
}
