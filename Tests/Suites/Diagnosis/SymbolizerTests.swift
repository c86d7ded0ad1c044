import Foundation
import Glibc
import LagDiagnosis
import LagSymbols
import TestSupport
import Testing

/// Real files: this test's binary, its stripped copy, the C library, the kernel image.
struct SymbolizerTests {
    private func ownFunction() throws -> CodePlace {
        let function: @convention(c) (Int32) -> Int32 = { value in markerForSymbolizerTests(value) }
        return try CodePlace(of: unsafeBitCast(function, to: UnsafeRawPointer.self))
    }

    private func getpidPlace() throws -> CodePlace { try CodePlace(of: try #require(dlsym(nil, "getpid"))) }

    @Test func `a closure of this program is named and demangled`() throws {
        let place = try ownFunction()
        var symbolizer = Symbolizer()
        let symbol = try #require(symbolizer.resolve([place.query(try place.buildID())])[0])
        #expect(symbol.name.contains("closure #1"))
        #expect(symbol.simplified == "closure in LagDiagnosisTests.SymbolizerTests.ownFunction")
        #expect(symbol.mangled?.hasPrefix("$s") == true)
        #expect(symbol.symbolOffset == 0)
    }

    @Test func `a function of the C library is named`() throws {
        let place = try getpidPlace()
        var symbolizer = Symbolizer(debugRoot: "/nonexistent")
        let symbol = try #require(symbolizer.resolve([place.query(try place.buildID())])[0])
        #expect(symbol.name == "getpid")
        #expect(symbol.mangled == nil)
    }

    @Test func `a file with another build ID gives no name`() throws {
        let place = try getpidPlace()
        let id = try place.buildID()
        var symbolizer = Symbolizer()
        #expect(symbolizer.resolve([place.query(String(id.reversed()))]) == [nil])
        #expect(symbolizer.resolve([place.query(id.uppercased())])[0] != nil)
    }

    /// As with a plugin that was unlinked after it was loaded, or a library after an upgrade.
    @Test(.enabled(if: geteuid() == 0, "the kernel shows the files of mappings to root alone"), arguments: [true, false])
    func `a deleted library is read from its mapping`(hasBuildID: Bool) throws {
        let scratch = try ScratchDirectory()
        let path = try scratch.write(Array("int deleted_library_place(void) { return 7; }".utf8), to: "library.c") + ".so"
        let link = hasBuildID ? "-Wl,--build-id" : "-Wl,--build-id=none"
        let compiler = try #require(Compiler.c)
        try Compiler.run(compiler, ["-shared", "-fPIC", link, "-o", path, "library.c"], in: scratch.path)
        let library = try #require(dlopen(path, RTLD_NOW))
        defer { dlclose(library) }
        let place = try CodePlace(of: try #require(dlsym(library, "deleted_library_place")))
        let id = hasBuildID ? try place.buildID() : ""
        #expect(unlink(path) == 0)
        let query = SymbolQuery(
            modulePath: path + " (deleted)",
            buildID: id,
            offset: place.offset,
            isReturnAddress: false
        )
        var symbolizer = Symbolizer()
        #expect(symbolizer.resolve([query])[0]?.name == "deleted_library_place")
        #expect(
            symbolizer.resolve([SymbolQuery(modulePath: "/x" + query.modulePath, buildID: id, offset: 1, isReturnAddress: false)])
                == [nil]
        )
    }

    @Test func `missing, deleted or relative files give no name`() throws {
        let place = try getpidPlace()
        var symbolizer = Symbolizer()
        for path in ["/nonexistent/lib.so", place.path + " (deleted)", "libc.so.6", "", "/", "/dev/zero"] {
            #expect(symbolizer.resolve([place.query(path: path)]) == [nil])
        }
    }

    @Test func `a stripped file gives no name, and its debug file provides it`() throws {
        let place = try ownFunction()
        let scratch = try ScratchDirectory()
        let stripped = scratch.path + "/stripped"
        try run("strip", "-o", stripped, place.path)
        let id = try place.buildID()

        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let without = symbolizer.resolve([place.query(id, path: stripped)])[0]
        #expect(without?.simplified.contains("ownFunction") != true)

        let folder = "\(scratch.path)/.build-id/\(id.prefix(2))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try run("objcopy", "--only-keep-debug", place.path, "\(folder)/\(id.dropFirst(2)).debug")
        var again = Symbolizer(debugRoot: scratch.path)
        let with = again.resolve([place.query(id, path: stripped)])[0]
        #expect(with?.simplified == "closure in LagDiagnosisTests.SymbolizerTests.ownFunction")
    }

    /// As `objcopy --add-gnu-debuglink` names it: next to the file, in its folder `.debug`, or below a root.
    @Test(arguments: ["", "/.debug", "root"]) func `a debug file is found by its name`(where place: String) throws {
        let scratch = try ScratchDirectory()
        let text = "static int hidden_place(void) { return 7; } void *hidden(void) { return hidden_place; }"
        let library = try scratch.write(Array(text.utf8), to: "library.c") + ".so"
        try Compiler.run(
            try #require(Compiler.c),
            ["-shared", "-fPIC", "-Wl,--build-id", "-o", library, "library.c"],
            in: scratch.path
        )
        let root = scratch.path + "/root"
        let folder = place == "root" ? root + scratch.path : scratch.path + place
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try run("objcopy", "--only-keep-debug", library, folder + "/hidden.debug")
        try run("strip", library)
        try run("objcopy", "--add-gnu-debuglink=\(folder)/hidden.debug", library)
        let loaded = try #require(dlopen(library, RTLD_NOW))
        defer { dlclose(loaded) }
        let hidden = unsafeBitCast(
            try #require(dlsym(loaded, "hidden")),
            to: (@convention(c) () -> UnsafeMutableRawPointer).self
        )
        let code = try CodePlace(of: hidden())
        let id = try code.buildID()
        func name() -> String? {
            var symbolizer = Symbolizer(debugRoot: root)
            return symbolizer.resolve([code.query(id)])[0]?.simplified
        }
        #expect(name() == "hidden_place")
        // A debug file of another program.
        try run("objcopy", "--only-keep-debug", "/bin/true", folder + "/hidden.debug")
        #expect(name() != "hidden_place")
    }

    @Test func `the kernel image is read`() throws {
        let handle = try #require(dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD))
        let name = "__vdso_clock_gettime"
        let address = try #require(dlsym(handle, name) ?? dlsym(handle, "__kernel_clock_gettime"))
        let place = try CodePlace(of: address)
        try #require(place.path == "[vdso]")
        var symbolizer = Symbolizer()
        #expect(symbolizer.resolve([place.query()])[0]?.name.hasSuffix("clock_gettime") == true)
    }

    @Test func `a repeated query reads no table`() throws {
        let place = try getpidPlace()
        let other = SymbolQuery(modulePath: place.path, buildID: "", offset: 1, isReturnAddress: false)
        var symbolizer = Symbolizer(debugRoot: "/nonexistent")
        let first = symbolizer.resolve([place.query(), other])
        let passes = symbolizer.tablePasses
        #expect(passes == 1)
        #expect(first[1] == nil)
        #expect(symbolizer.resolve([other, place.query()]) == first.reversed())
        #expect(symbolizer.tablePasses == passes)
    }

    @Test func `the cache is bounded`() throws {
        let place = try getpidPlace()
        var symbolizer = Symbolizer(debugRoot: "/nonexistent", cacheLimit: 10)
        let queries = (0..<100).map {
            SymbolQuery(modulePath: place.path, buildID: "", offset: place.offset + UInt64($0), isReturnAddress: false)
        }
        let answers = symbolizer.resolve(queries)
        #expect(answers[0]?.name == "getpid")
        #expect(symbolizer.cachedCount <= 10)
        #expect(symbolizer.resolve(queries) == answers)
    }

    @Test func `answers keep the order of the queries`() throws {
        let mine = try ownFunction()
        let theirs = try getpidPlace()
        var symbolizer = Symbolizer(debugRoot: "/nonexistent")
        let answers = symbolizer.resolve([theirs.query(), mine.query(), theirs.query(path: "/nonexistent"), theirs.query()])
        #expect(answers[0]?.name == "getpid")
        #expect(answers[1]?.simplified.hasSuffix("ownFunction") == true)
        #expect(answers[2] == nil)
        #expect(answers[3] == answers[0])
    }

    @Test(arguments: SeededGenerator.seeds(1)) func `damaged copies of a real binary are survived`(seed: UInt64) throws {
        let scratch = try ScratchDirectory()
        let place = try getpidPlace()
        let whole = [UInt8](
            try Data(contentsOf: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()).prefix(1 << 20)
        )
        let library = [UInt8](try Data(contentsOf: URL(fileURLWithPath: place.path)))
        var generator = SeededGenerator(seed: seed)
        var symbolizer = Symbolizer(debugRoot: "/nonexistent", cacheLimit: 1)
        for round in 0..<30 {
            var bytes = round % 4 == 0 ? whole : library
            if round % 3 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator)) }
            // The structure is in the header and at both ends.
            for _ in 0..<64 where bytes.count > 0 {
                let near = min(bytes.count, 4096)
                let place =
                    Bool.random(using: &generator)
                    ? Int.random(in: 0..<near, using: &generator)
                    : bytes.count - 1 - Int.random(in: 0..<near, using: &generator)
                if place > 5 { bytes[place] = UInt8.random(in: 0...255, using: &generator) }
            }
            let path = try scratch.write(bytes, to: "damaged")
            let queries = [place.offset, 0, .max, UInt64.random(in: 0...0x20_0000, using: &generator)].map {
                SymbolQuery(modulePath: path, buildID: "", offset: $0, isReturnAddress: true)
            }
            #expect(symbolizer.resolve(queries).count == 4)
            // No child process: the damaged file would have to be accepted as a program with lines.
            var lines = LineSymbolizer(program: "/nonexistent")
            #expect(lines.levels(for: queries).count == 4)
            _ = BinarySummary(path: path)
        }
    }
}

@inline(never) func markerForSymbolizerTests(_ value: Int32) -> Int32 { value &+ 1 }
