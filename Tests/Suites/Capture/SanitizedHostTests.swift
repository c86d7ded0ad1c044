import Foundation
import Testing

/// A program under AddressSanitizer whose running thread is captured by a signal: its stack holds redzones, and reading across them by
/// an ordinary copy ends the program.
///
/// In C, compiled here from the sources: a Swift program under the tool takes minutes to build.
@Suite struct SanitizedHostTests {
    /// Finds clang in PATH.
    private static let compiler = "/usr/bin/env"

    private static func run(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String] = [:]
    ) throws -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationReason == .exit ? process.terminationStatus : -1, text)
    }

    private static let hasTool: Bool = {
        let folder = FileManager.default.temporaryDirectory.path + "/asan-\(getpid()).c"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let empty = Data("int main(void) { return 0; }".utf8)
        guard (try? empty.write(to: URL(fileURLWithPath: folder))) != nil else { return false }
        return (try? run(compiler, ["clang", "-fuse-ld=lld", "-fsanitize=address", folder, "-o", "/dev/null"]))?.0 == 0
    }()

    @Test(.enabled(if: hasTool, "no clang with AddressSanitizer")) func `a host under AddressSanitizer is captured and lives`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("asan-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let host = folder.appendingPathComponent("host.c").path
        try Data(Self.host.utf8).write(to: URL(fileURLWithPath: host))
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        root.appendPathComponent("Sources")
        let modules = ["CLagLinux", "CLagBeacon"].map { root.appendingPathComponent($0) }
        let sources = try modules.flatMap { module in
            let names = try FileManager.default.contentsOfDirectory(atPath: module.path)
            return names.filter { $0.hasSuffix(".c") }.map { module.path + "/" + $0 }
        }
        let includes = modules.map { "-I" + $0.appendingPathComponent("include").path }
        let program = folder.appendingPathComponent("host").path
        let options = ["clang", "-fuse-ld=lld", "-fsanitize=address", "-O0", "-g"] + includes
        let built = try Self.run(Self.compiler, options + [host] + sources + ["-lpthread", "-ldl", "-o", program])
        try #require(built.0 == 0, "\(built.1)")
        // As Swift compiles: local variables stay on the stack itself, with the redzones between them.
        let (status, text) = try Self.run(program, [], ["ASAN_OPTIONS": "detect_stack_use_after_return=0"])
        #expect(status == 0 && text == "captured\n", "\(text.prefix(2000))")
    }

    private static let host = """
        #include "CLagLinux.h"
        #include "clb_beacon.h"
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        static int stop, tid;
        static uint64_t low, high;

        __attribute__((noinline)) void fill(char *to, int count) {
            for (int index = 0; index < count; index++) to[index] = (char)index;
        }

        __attribute__((noinline)) static int spin(void) {
            char here[100], there[33];
            fill(here, 100);
            fill(there, 33);
            __atomic_store_n(&tid, cll_gettid(), __ATOMIC_RELEASE);
            while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) fill(here, 3);
            return here[2] + there[1];
        }

        static void *run(void *unused) {
            cll_thread_stack(pthread_self(), &low, &high);
            spin();
            return NULL;
        }

        int main(void) {
            pthread_t thread;
            cll_snapshot snapshot;
            memset(&snapshot, 0, sizeof(snapshot));
            snapshot.capacity = 512 << 10;
            snapshot.stack = malloc(snapshot.capacity);
            if (cll_memory_prepare() != 0 || cll_signal_install() == 0) return 2;
            pthread_create(&thread, NULL, run, NULL);
            int number;
            while ((number = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)) == 0) usleep(1000);
            int result = cll_signal_capture(number, cll_signal_choose(0), low, high, &snapshot, clb_now_ns() + 20000000000u);
            __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
            pthread_join(thread, NULL);
            free(snapshot.stack);
            if (result != 0) return 3;
            puts("captured");
            return 0;
        }
        """
}
