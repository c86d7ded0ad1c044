import Foundation
import LagDiagnosis
internal import LagModel
import TestSupport
import Testing

/// Compilers found in PATH.
enum Compiler {
    static let c = find("clang")
    static let swift = find("swiftc")
    /// GNU's linker, which the C compiler uses with `-fuse-ld=bfd`.
    static let gnuLinker = find("ld.bfd")
    static let lld = find("ld.lld")

    private static func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end; its output. If it fails, the test fails with its error output.
    @discardableResult
    static func run(_ path: String, _ arguments: [String], in folder: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let output = Pipe()
        let errors = "\(folder)/errors"
        _ = FileManager.default.createFile(atPath: errors, contents: nil)
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let said = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        try #require(process.terminationStatus == 0, "\(path) \(arguments.joined(separator: " ")): \(said)")
        return text
    }
}

/// A program that prints its own stack: the place of each frame, leaf first.
struct CompiledProgram {
    /// Prints a line per frame: address, address minus the load address, file. All are return addresses.
    static let stackPrinter = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <execinfo.h>
        #include <stdio.h>
        __attribute__((noinline)) void print_stack(void) {
            void *frames[64];
            int count = backtrace(frames, 64);
            for (int index = 0; index < count; index++) {
                Dl_info info;
                if (!dladdr(frames[index], &info)) continue;
                printf("%lx %lx %s\\n", (unsigned long)frames[index],
                       (unsigned long)((char *)frames[index] - (char *)info.dli_fbase), info.dli_fname);
            }
            fflush(stdout);
        }
        """

    /// Code that moves everything linked after it.
    static let padding = """
        __attribute__((noinline)) int padding(int value) { __asm__ volatile(".skip 40004, 0x90"); return value + 1; }
        """

    /// One run: the addresses in the process, and the frames as the reporter would create them.
    struct Run {
        let addresses: [UInt64]
        let offsets: [UInt64]
        let frames: [StallRecord.Frame]
        var print: Fingerprint { Fingerprint(frames: frames.map { ($0, true) }) }
        var appSymbols: [String] { frames.filter { $0.inApp == true }.compactMap(\.symbol) }
    }

    /// The origins of functions of a program that is compiled.
    static func origins(of functions: [String], in folder: String, _ name: String) throws -> [String: CodeOrigin] {
        let table = try Compiler.run("/usr/bin/env", ["nm", name], in: folder).split(separator: "\n").map {
            $0.split(separator: " ")
        }
        var symbolizer = Symbolizer(debugRoot: folder)
        var origins: [String: CodeOrigin] = [:]
        for function in functions {
            let line = try #require(table.first { $0.last == Substring(function) })
            let query = SymbolQuery(
                modulePath: "\(folder)/\(name)",
                buildID: "",
                offset: try #require(UInt64(line[0], radix: 16)) + 1,
                isReturnAddress: false
            )
            origins[function] = try #require(symbolizer.resolve([query])[0]).origin
        }
        return origins
    }

    /// Its folder; deleted with the last program in it.
    let scratch: ScratchDirectory
    let name: String

    private var folder: String { scratch.path }

    func run() throws -> Run {
        let lines = try Compiler.run("\(folder)/\(name)", [], in: folder).split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 2)
        }
        try #require(lines.allSatisfy { $0.count == 3 } && lines.count > 3)
        var symbolizer = Symbolizer()
        var buildIDs: [String: String] = [:]
        var queries: [SymbolQuery] = []
        for line in lines {
            let module = String(line[2])
            if buildIDs[module] == nil { buildIDs[module] = try buildID(of: module) }
            queries.append(
                SymbolQuery(
                    modulePath: module,
                    buildID: buildIDs[module] ?? "",
                    offset: try #require(UInt64(line[1], radix: 16)),
                    isReturnAddress: true
                )
            )
        }
        let rules = InAppRules()
        let frames = zip(queries, symbolizer.resolve(queries)).map { query, symbol in
            StallRecord.Frame(
                pc: 0,
                module: query.modulePath,
                buildID: query.buildID,
                offset: query.offset,
                symbol: symbol?.simplified,
                inApp: rules.isInApp(modulePath: query.modulePath, symbol: symbol?.simplified)
            )
        }
        return Run(addresses: lines.compactMap { UInt64($0[0], radix: 16) }, offsets: queries.map(\.offset), frames: frames)
    }

    private func buildID(of module: String) throws -> String {
        let notes = try Compiler.run("/usr/bin/env", ["readelf", "-n", module], in: folder).split(separator: "\n")
        return String(try #require(notes.first { $0.contains("Build ID:") }?.split(separator: " ").last))
    }
}
