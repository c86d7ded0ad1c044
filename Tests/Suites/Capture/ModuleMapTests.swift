import CLibunwind
import Foundation
import Glibc
import Testing

@testable import LagCapture

struct ModuleMapTests {
    private struct Mapping {
        let range: Range<UInt64>
        let offset: Int
        let path: String

        /// The C library's code; nil if there is none.
        init?(ofLibraryIn maps: String) {
            for line in maps.split(separator: "\n") where line.contains(" r-xp ") && line.contains("/libc.so") {
                let fields = line.split(separator: " ", maxSplits: 5)
                let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard fields.count == 6, ends.count == 2 else { return nil }
                range = ends[0]..<ends[1]
                offset = Int(fields[2], radix: 16) ?? 0
                path = fields[5].trimmingCharacters(in: .whitespaces)
                return
            }
            return nil
        }
    }

    /// V8 maps its builtins a second time like this.
    @Test func `code of a module that is mapped a second time is resolved to the module`() throws {
        // Reading a whole file stops at the first short read, and reads of long maps are short.
        let pieces = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        var maps = ""
        while let piece = try pieces.read(upToCount: 4096), !piece.isEmpty { maps += String(decoding: piece, as: UTF8.self) }
        let own = try #require(Mapping(ofLibraryIn: maps), "\(maps)")
        let page: UInt64 = 4096
        let file = open(own.path, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        let map = try #require(ModuleMap())
        map.refresh()
        let module = try #require(map.index(of: own.range.lowerBound))
        let before = map.copies(of: module).map(\.range)
        let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, off_t(own.offset) + off_t(page)))
        #expect(memory != MAP_FAILED)
        let start = UInt64(UInt(bitPattern: memory))
        let generation = map.generation
        map.refresh()
        // Users of the copies must read them again.
        #expect(map.generation != generation)
        #expect(!before.contains(start..<start + 4096))
        let copy = try #require(map.copies(of: module).first { $0.range == start..<start + 4096 })
        var table = map.table
        #expect(clu_code_kind(&table, start) == CLU_CODE_OF_FILE && clu_code_kind(&table, start - 1) != CLU_CODE_OF_FILE)
        #expect(copy.original(of: start + 8) == own.range.lowerBound + page + 8)
        #expect(copy.original(of: start + 4096) == nil && copy.original(of: start - 1) == nil)
        for other in map.present where other.index != module {
            #expect(!map.copies(of: other.index).contains { $0.range == copy.range })
        }
        munmap(memory, 4096)
        let withCopy = map.generation
        map.refresh()
        #expect(map.generation != withCopy && !map.copies(of: module).contains { $0.range == copy.range })
    }

    @Test func `code mappings are known even if there are more mappings than fit`() throws {
        let (page, pages) = (4096, 50_000)
        let memory = try #require(mmap(nil, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        #expect(memory != MAP_FAILED)
        defer { munmap(memory, pages * page) }
        let small = try #require(ModuleMap())
        small.refresh()
        for index in stride(from: 0, to: pages, by: 2) { mprotect(memory + index * page, page, PROT_READ) }
        let large = try #require(ModuleMap())
        #expect(large.refresh())
        #expect(large.present.map(\.start) == small.present.map(\.start))
        #expect(large.table.range_count == small.table.range_count)
        // A further refresh may be deferred, and loses nothing.
        large.refresh()
        #expect(large.present.count == small.present.count)
    }

    @Test func `stack walks reread the mappings at a limited rate`() throws {
        let map = try #require(ModuleMap())
        #expect(map.refreshForWalk())
        #expect(map.nextForWalk > 0)
        let memory = try #require(mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(memory, 4096) }
        map.nextForWalk = .max
        #expect(!map.refreshForWalk())
        map.nextForWalk = 0
        #expect(map.refreshForWalk())
    }

    /// lld maps the first page of a small file a second time, for its code.
    @Test func `a small file whose first page is mapped twice is one module`() throws {
        let folder = NSTemporaryDirectory() + "module-map-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (source, library) = (folder + "/small.c", folder + "/small.so")
        try Data("int small_place(void) { return 7; }".utf8).write(to: URL(fileURLWithPath: source))
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["clang", "-shared", "-fPIC", "-fuse-ld=lld", "-o", library, source]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        let handle = try #require(dlopen(library, RTLD_NOW))
        defer { dlclose(handle) }
        let place = UInt64(UInt(bitPattern: dlsym(handle, "small_place")))
        let map = try #require(ModuleMap())
        map.refresh()
        let modules = map.present.filter { map.module(at: $0.index)?.path == library }
        try #require(modules.count == 1)
        #expect(map.index(of: place) == modules[0].index)
    }

    /// A folder for a library's sources, removed afterwards.
    private static func inFolder(_ name: String, _ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + name
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private static func compile(_ source: String, to library: String, _ options: [String] = []) throws {
        let file = library + ".c"
        try Data(source.utf8).write(to: URL(fileURLWithPath: file))
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = ["clang", "-shared", "-fPIC", "-o", library, file] + options
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
    }

    /// A library that is rewritten and loaded again has the same address, path and inode.
    @Test(arguments: ["sha1", "none"]) func `a rewritten file is another module`(id: String) throws {
        try Self.inFolder("module-map-\(UUID().uuidString)") { folder in
            let versions = ["int run(void) { return 1; }", "int run(void) { return 2; } int walk(int n) { return n * 7 + 5; }"]
            var contents: [Data] = []
            for source in versions {
                try Self.compile(source, to: folder + "/version.so", ["-Wl,--build-id=\(id)"])
                contents.append(try Data(contentsOf: URL(fileURLWithPath: folder + "/version.so")))
            }
            // Reserves address space for the whole library; only the file's first page is mapped.
            let memory = try #require(mmap(nil, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            defer { munmap(memory, 1 << 20) }
            let file = open(folder + "/plug.so", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            let map = try #require(ModuleMap())
            var indices: [Int] = []
            for version in [0, 0, 1, 0] {
                try #require(ftruncate(file, 0) == 0)
                try #require(
                    contents[version].withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) } == contents[version].count
                )
                try #require(mmap(memory, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == memory)
                map.refresh()
                indices.append(try #require(map.index(of: UInt64(UInt(bitPattern: memory)))))
            }
            #expect(indices[0] == indices[1] && indices[1] != indices[2] && indices[3] == indices[0])
            let modules = try indices.map { try #require(map.module(at: $0)) }
            #expect(modules.allSatisfy { $0.path == folder + "/plug.so" })
            #expect((modules[0].buildID == modules[2].buildID) == (id == "none"))
        }
    }

    @Test func `a long path is not truncated`() throws {
        let parts = ["module-map-\(UUID().uuidString)"] + [String](repeating: String(repeating: "d", count: 90), count: 3)
        try Self.inFolder(parts.joined(separator: "/")) { folder in
            try Self.compile("int far_place(void) { return 7; }", to: folder + "/far.so")
            let handle = try #require(dlopen(folder + "/far.so", RTLD_NOW))
            defer { dlclose(handle) }
            let map = try #require(ModuleMap())
            map.refresh()
            let index = try #require(map.index(of: UInt64(UInt(bitPattern: dlsym(handle, "far_place")))))
            #expect(map.module(at: index)?.path == folder + "/far.so")
        }
        try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + parts[0])
    }
}
