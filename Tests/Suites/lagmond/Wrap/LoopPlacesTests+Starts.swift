internal import Foundation
internal import TestSupport
internal import Testing

/// Starts whose waits look like a loop's, and loops that look without waiting.
extension LoopPlacesTests {
    @Test func `a loop further in than a start's one wait is found, with its stall and no other`() throws {
        let lines = try Self.lines("once-outer", .run)
        #expect(lines.count == 1 && lines.first.map { Self.functions($0).contains("handler_that_naps") } == true, "\(lines)")
    }

    /// Its place may be further in than its start's, and an idle program waits there once.
    @Test func `a loop further in than a start is no handler that waits`() throws {
        let lines = try Self.lines("start-outer", .run)
        #expect(lines.isEmpty, "\(lines)")
    }

    /// Within seconds of the start what waits further in may be the loop, and what waited before a start, unless it serves a connection.
    @Test(arguments: [("serves", 1), ("calls", 0)])
    func `a loop within a handler that serves a connection is a stall, however young`(name: String, stalls: Int) throws {
        let lines = try Self.lines(name, .run)
        #expect(lines.count == stalls, "\(lines)")
        #expect(lines.allSatisfy { Self.functions($0).contains("handler_that_turns") }, "\(lines)")
    }

    /// It looks the same until it is over: then the loop comes back to its wait.
    @Test func `a start that is over hangs in nothing, a loop that is young does`() throws {
        let options = ["--hang-after-ms", "600"]
        let over = try Self.lines("over", .run, options)
        #expect(over.isEmpty, "\(over)")
        let lines = try Self.lines("over-returns", .run, options)
        #expect(lines.map { $0["phase"] as? String } == ["begin", "end"], "\(lines)")
    }

    @Test func `what a handler sleeps is a stall of a loop that sleeps between its looks`() throws {
        let lines = try Self.lines("looks", .run)
        #expect(lines.count == 1 && lines.first.map { Self.functions($0).contains("handler_that_naps") } == true, "\(lines)")
    }

    /// What another thread asks a loop of libev for while a handler runs, the kernel does not see.
    @Test func `of a loop of libev in a program with threads nothing is known to be pending, or not`() throws {
        try withFolder { folder in
            let (source, library) = (folder + "/loop.c", folder + "/libev.so.4")
            let text = """
                #include <pthread.h>
                #include <unistd.h>
                static void *rest(void *unused) { for (;;) pause(); return unused; }
                __attribute__((constructor)) static void begin(void) { pthread_t thread; pthread_create(&thread, 0, rest, 0); }
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: source))
            let compiler = try ProbeRun(["/usr/bin/env", "clang", "-shared", "-fPIC", "-o", library, source])
            try #require(compiler.status == 0, "\(compiler.errors)")
            let lines = try Self.lines("lock", .run, environment: ["LD_PRELOAD": library])
            #expect(lines.count == 1 && lines.first?["pending"] == nil, "\(lines)")
        }
    }
}
