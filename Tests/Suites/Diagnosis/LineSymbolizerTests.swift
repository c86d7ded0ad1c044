import Foundation
import Glibc
import StallFixtures
import TestSupport
import Testing

@testable import LagDiagnosis
@testable import LagSymbols

/// Real programs, with the real `llvm-symbolizer`.
@Suite(.enabled(if: SymbolizerProgram.find() != nil, "no llvm-symbolizer on this machine"))
struct LineSymbolizerTests {
    /// A busy machine may be slow.
    private static let patience = Duration.seconds(60)

    /// A return address in C code with two inlined levels, and the expected lines.
    private struct Inlined {
        let place: CodePlace
        let lines: [Int]

        init() throws {
            var found = fixture_inlined_place()
            fixture_with_inlined(&found)
            place = try CodePlace(of: try #require(found.return_address))
            lines = [Int(found.leaf_line), Int(found.middle_line), Int(found.outer_line)]
        }

        func query(path: String? = nil, buildID: String) -> SymbolQuery {
            SymbolQuery(modulePath: path ?? place.path, buildID: buildID, offset: place.offset, isReturnAddress: true)
        }
    }

    private static let names = ["fixture_inlined_leaf", "fixture_inlined_middle", "fixture_with_inlined"]

    private func expectLevels(_ levels: [ResolvedFrame], of inlined: Inlined) {
        #expect(levels.map(\.name) == Self.names)
        #expect(levels.map(\.line) == inlined.lines)
        #expect(levels.map(\.isInlined) == [true, true, false])
        #expect(levels.allSatisfy { $0.file?.hasSuffix("/Tests/Support/StallFixtures/inlined.c") == true })
    }

    @Test func `inlined functions of C come before their function`() throws {
        let inlined = try Inlined()
        var lines = LineSymbolizer(deadline: Self.patience)
        defer { lines.close() }
        expectLevels(lines.levels(for: [inlined.query(buildID: try inlined.place.buildID())])[0], of: inlined)
    }

    @Test func `Swift code without optimisation has file and line`() throws {
        let (address, line) = (fixture_return_address(), #line)
        let place = try CodePlace(of: try #require(address))
        let query = SymbolQuery(
            modulePath: place.path,
            buildID: try place.buildID(),
            offset: place.offset,
            isReturnAddress: true
        )
        var resolver = FrameResolver(lines: LineSymbolizer(deadline: Self.patience))
        defer { resolver.close() }
        let levels = resolver.frames(for: [query])[0]
        #expect(levels.count == 1)
        #expect(levels[0].file == #filePath)
        #expect(levels[0].line == line)
        #expect(levels[0].symbolOffset ?? 0 > 0)
        // The compiler writes the spaces of a raw identifier as no-break spaces.
        let name = levels[0].simplified?.replacing("\u{a0}", with: " ")
        #expect(name == "LagDiagnosisTests.LineSymbolizerTests.`Swift code without optimisation has file and line`")
        #expect(levels[0].mangled?.hasPrefix("$s") == true)
    }

    @Test(.enabled(if: hasTool("swiftc"), "no swiftc on this machine"))
    func `Swift code with optimisation has inlined levels`() throws {
        let scratch = try ScratchDirectory()
        let source = """
            @inline(__always) func innermost(_ value: Int) -> Int {
                print(value)
                return value &* 3
            }
            @inline(never) public func outermost(_ value: Int) -> Int { innermost(value) &+ 1 }
            print(outermost(4))
            """
        let path = try scratch.write(Array(source.utf8), to: "Optimised.swift")
        let binary = scratch.path + "/optimised"
        try run("swiftc", "-O", "-g", "-module-name", "Optimised", "-Xlinker", "--build-id", "-o", binary, path)
        let symbol = try run("nm", "-S", binary).split(separator: "\n").first { $0.hasSuffix("9outermostyS2iF") }
        let fields = try #require(symbol).split(separator: " ")
        let start = try #require(UInt64(fields[0], radix: 16))
        let size = try #require(UInt64(fields[1], radix: 16))
        let id = try #require(BinarySummary(path: binary)?.buildID)
        var resolver = FrameResolver(lines: LineSymbolizer(deadline: Self.patience))
        defer { resolver.close() }
        let frames = resolver.frames(
            for: (0..<size).map {
                SymbolQuery(modulePath: binary, buildID: id, offset: start + $0, isReturnAddress: false)
            }
        )
        #expect(frames.allSatisfy { $0.last?.simplified == "Optimised.outermost" && $0.last?.isInlined == false })
        let inner = try #require(frames.first { $0.first?.simplified == "Optimised.innermost" && $0.first?.line == 2 })
        #expect(inner.first?.name == "Optimised.innermost(Swift.Int) -> Swift.Int")
        #expect(inner.first?.isInlined == true)
        #expect(inner.first?.file == path)
        #expect(inner.last?.line == 5)
    }

    @Test(.enabled(if: hasTool("strip") && hasTool("objcopy"), "no binutils on this machine"))
    func `a stripped program has no lines, and its debug file provides them`() throws {
        let inlined = try Inlined()
        let id = try inlined.place.buildID()
        let scratch = try ScratchDirectory()
        let stripped = scratch.path + "/stripped"
        try run("strip", "-o", stripped, inlined.place.path)
        let query = inlined.query(path: stripped, buildID: id)
        var without = LineSymbolizer(debugRoots: [scratch.path], deadline: Self.patience)
        #expect(without.levels(for: [query]) == [[]])
        #expect(without.questionCount == 0)

        let folder = "\(scratch.path)/.build-id/\(id.prefix(2))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try run("objcopy", "--only-keep-debug", inlined.place.path, "\(folder)/\(id.dropFirst(2)).debug")
        var lines = LineSymbolizer(debugRoots: ["/nonexistent", scratch.path], deadline: Self.patience)
        defer { lines.close() }
        expectLevels(lines.levels(for: [query])[0], of: inlined)

        try run("strip", "-o", "\(folder)/\(id.dropFirst(2)).debug", "/bin/ls")
        var wrong = LineSymbolizer(debugRoots: [scratch.path], deadline: Self.patience)
        #expect(wrong.levels(for: [query]) == [[]])
    }

    @Test func `a file with another build ID has no lines`() throws {
        let inlined = try Inlined()
        let id = try inlined.place.buildID()
        var lines = LineSymbolizer(deadline: Self.patience)
        defer { lines.close() }
        #expect(lines.levels(for: [inlined.query(buildID: String(id.reversed()))]) == [[]])
        #expect(lines.levels(for: [inlined.query(path: "/nonexistent", buildID: id)]) == [[]])
        #expect(lines.childPID == nil)
        #expect(lines.levels(for: [inlined.query(buildID: id.uppercased())])[0].count == 3)
    }

    @Test func `a replaced file is read again`() throws {
        let inlined = try Inlined()
        let id = try inlined.place.buildID()
        let scratch = try ScratchDirectory()
        let path = scratch.path + "/module's \"file\"".replacing("\"", with: "")
        try FileManager.default.copyItem(atPath: inlined.place.path, toPath: path)
        var lines = LineSymbolizer(deadline: Self.patience)
        defer { lines.close() }
        expectLevels(lines.levels(for: [inlined.query(path: path, buildID: id)])[0], of: inlined)
        let first = lines.childPID

        try FileManager.default.removeItem(atPath: path)
        #expect(lines.levels(for: [inlined.query(path: path, buildID: id)])[0].count == 3, "known lines stay known")
        let next = SymbolQuery(modulePath: path, buildID: id, offset: inlined.place.offset + 1, isReturnAddress: true)
        #expect(lines.levels(for: [next]) == [[]])
        try FileManager.default.copyItem(atPath: inlined.place.path, toPath: path)
        #expect(lines.levels(for: [next])[0].last?.name == "fixture_with_inlined")
        #expect(lines.childPID != first)
    }

    @Test func `lines of the own program are available after its file was deleted`() throws {
        let inlined = try Inlined()
        let id = try inlined.place.buildID()
        let path = inlined.place.path + " (deleted)"
        var resolver = FrameResolver(lines: LineSymbolizer(deadline: Self.patience))
        defer { resolver.close() }
        expectLevels(resolver.frames(for: [inlined.query(path: path, buildID: id)])[0], of: inlined)
        #expect(resolver.frames(for: [inlined.query(path: path, buildID: "")]) == [[]])
        #expect(resolver.frames(for: [inlined.query(path: path, buildID: String(id.reversed()))]) == [[]])
    }

    @Test func `resolving only names starts no child and gives one level`() throws {
        let inlined = try Inlined()
        var resolver = FrameResolver()
        let frames = resolver.frames(for: [inlined.query(buildID: try inlined.place.buildID())])
        #expect(frames.map { $0.map(\.name) } == [["fixture_with_inlined"]])
        #expect(frames[0][0].line == nil)
    }

    @Test func `the kernel image and unknown modules have no lines`() {
        var lines = LineSymbolizer(deadline: Self.patience)
        let queries = ["[vdso]", "", "relative", "/dev/zero", "/etc/passwd"].map {
            SymbolQuery(modulePath: $0, buildID: "", offset: 0x1000, isReturnAddress: true)
        }
        #expect(lines.levels(for: queries) == Array(repeating: [], count: queries.count))
        #expect(lines.childPID == nil)
    }
}

/// Whether PATH contains a program with that name.
func hasTool(_ name: String) -> Bool {
    (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":").contains {
        access("\($0)/\(name)", X_OK) == 0
    }
}
