internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagDiagnosis
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// With `-static`, gcc links without a sorted table of the unwind entries.
struct StaticProgramTests {
    private static let source = """
        #include <stdio.h>
        #include <stdlib.h>
        static int rows[100000];
        static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
        __attribute__((noinline)) void sort_orders(void) {
            for (int i = 0; i < 100000; i++) rows[i] = rand();
            qsort(rows, 100000, sizeof(int), compare);
            __asm__ volatile("");
        }
        int main(void) { puts("begin"); fflush(stdout); for (;;) sort_orders(); }
        """

    private final class Program {
        let process = Process()
        let folder = NSTemporaryDirectory() + "static-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try Data(StaticProgramTests.source.utf8).write(to: URL(fileURLWithPath: folder + "/sort.c"))
            let compiler = Process()
            compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            compiler.arguments = ["gcc", "-O2", "-static", "-Wl,--no-eh-frame-hdr", "-o", folder + "/sort", folder + "/sort.c"]
            try compiler.run()
            compiler.waitUntilExit()
            try #require(compiler.terminationStatus == 0)
            process.executableURL = URL(fileURLWithPath: folder + "/sort")
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            _ = LineReader(output).next()
        }

        deinit {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    @Test func `the stacks of a static program are complete`() throws {
        let program = try Program()
        let pid = program.process.processIdentifier
        let capture = try ThreadCapture(process: pid, running: TraceCapture.self)
        #expect(!capture.modules.withoutTables.isEmpty)
        capture.modules.makeTables()
        let frames = FrameBuffer(capacity: 64)
        let identity = ThreadIdentity(tid: pid, process: pid, stackLow: 0, stackHigh: 0)
        var symbolizer = Symbolizer(files: SymbolFiles(process: pid))
        var names: [String] = []
        let isWhole = eventually {
            let outcome = capture.capture(identity, earlier: nil, into: frames)
            names = (0..<outcome.stored).compactMap { index in
                let frame = frames[index]
                guard let module = frame.module.flatMap({ capture.modules.module(at: $0) }) else { return nil }
                let query = SymbolQuery(
                    modulePath: module.path,
                    buildID: module.buildID,
                    offset: frame.pc &- module.bias,
                    isReturnAddress: frame.isReturnAddress
                )
                return symbolizer.resolve([query])[0]?.name
            }
            return outcome.end == .complete && names.contains { $0.hasPrefix("msort") || $0.hasPrefix("qsort") }
        }
        #expect(isWhole, "\(names)")
        #expect(names.contains("sort_orders") && names.contains("main") && names.last == "_start", "\(names)")
    }

    @Test func `no table is created from a range without unwind entries`() throws {
        let program = try Program()
        let modules = try #require(ModuleMap(process: program.process.processIdentifier))
        modules.refresh()
        let index = try #require(modules.withoutTables.first)
        let start = try #require(modules.present.first { $0.index == index }?.start)
        for section in [start..<start + 4096, start + 4096..<start + 8192, start..<start, 0..<UInt64.max, 4096..<1 << 60] {
            #expect(!modules.makeTable(of: index, from: section))
        }
        #expect(modules.withoutTables.contains(index))
    }
}
