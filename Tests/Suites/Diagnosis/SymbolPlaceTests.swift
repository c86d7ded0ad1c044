import Foundation
import Glibc
import LagDiagnosis
import TestSupport
import Testing

/// The file that a module's symbols come from.
struct SymbolPlaceTests {
    private typealias Symbol = SyntheticELF.Symbol

    @Test func `symbols of a file without a build ID are replaced with the file`() throws {
        let scratch = try ScratchDirectory()
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        for name in ["resize", "encode", "resize_again"] {
            let path = try scratch.write(
                SyntheticELF(symbols: [Symbol(name: name, value: 0x1100, size: 16)]).bytes(),
                to: "module"
            )
            let query = SymbolQuery(modulePath: path, buildID: "", offset: 0x1100, isReturnAddress: false)
            #expect(symbolizer.resolve([query]).map { $0?.name } == [name])
        }
    }

    /// 20,000 symbols at one address, and one long name. Without a size, each might be another name of `main`.
    @Test(arguments: [UInt64(0x1000), 0]) func `only the names of found symbols are read`(size: UInt64) throws {
        let scratch = try ScratchDirectory()
        var symbols = [Symbol](repeating: Symbol(name: "", value: 0x1000, size: size), count: 20_000)
        symbols[0].name = String(repeating: "a", count: 30_000)
        var file = SyntheticELF(symbols: symbols).bytes()
        // After the header and the first entry, which is empty; the first name is at 1.
        for index in 1..<symbols.count { file[64 + 24 * (index + 1)] = 1 }
        for index in 1..<symbols.count { for byte in 1..<4 { file[64 + 24 * (index + 1) + byte] = 0 } }
        let path = try scratch.write(file, to: "module")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let start = clock()
        let found = symbolizer.resolve(
            (0..<20).map { SymbolQuery(modulePath: path, buildID: "", offset: 0x1100 + $0, isReturnAddress: false) }
        )
        #expect(found.allSatisfy { $0?.name.utf8.count == 30_000 })
        // In processor time, of which reading every name would take minutes.
        #expect(Double(clock() - start) / Double(CLOCKS_PER_SEC) < 5)
    }

    /// The kernel shows a module's path from the root of the mount namespace; the process's root is below it.
    @Test(.enabled(if: geteuid() == 0)) func `symbols are found for a process in a container with another root`() throws {
        let scratch = try ScratchDirectory()
        let source = try scratch.write(
            Array("#include <unistd.h>\nint main(void) { write(1, \"x\", 1); for (;;) pause(); }".utf8),
            to: "pause.c"
        )
        let program = scratch.path + "/root/pause"
        try FileManager.default.createDirectory(atPath: scratch.path + "/root", withIntermediateDirectories: false)
        try run("cc", "-static", "-Wl,--build-id=sha1", "-o", program, source)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["unshare", "-m", "chroot", scratch.path + "/root", "/pause"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)  // the others may be blocked
            process.waitUntilExit()
        }
        // Where namespaces are not permitted, it has exited without output.
        guard try output.fileHandleForReading.read(upToCount: 1) == Data("x".utf8) else { return }
        let pid = process.processIdentifier
        let maps = String(decoding: FileManager.default.contents(atPath: "/proc/\(pid)/maps") ?? Data(), as: UTF8.self)
        let path = try #require(maps.split(separator: "\n").first?.split(separator: " ").last.map(String.init))
        #expect(path == program)
        let notes = try run("readelf", "-n", program).split(separator: "\n")
        let id = String(try #require(notes.first { $0.contains("Build ID:") }?.split(separator: " ").last))
        let line = try #require(try run("nm", program).split(separator: "\n").first { $0.hasSuffix(" T main") })
        let start = try #require(UInt64(line.prefix { $0 != " " }, radix: 16))
        var symbolizer = Symbolizer(files: SymbolFiles(process: pid))
        for (id, name) in [(id, "main"), (String(id.reversed()), nil)] {
            let query = SymbolQuery(modulePath: path, buildID: id, offset: start, isReturnAddress: false)
            #expect(symbolizer.resolve([query]).map { $0?.name } == [name])
        }
    }
}
