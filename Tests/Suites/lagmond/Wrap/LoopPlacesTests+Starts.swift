internal import Foundation
internal import TestSupport
internal import Testing

/// Startup code whose waits look like those of a loop, and loops that poll without waiting.
extension LoopPlacesTests {
    @Test func `a loop deeper than a single wait at startup is found, with only its stall`() throws {
        let lines = try Self.lines("once-outer", .run)
        Self.expectStall(lines, in: "handler_that_naps")
    }

    /// As without the start: the stall after the first wait counts once the thread has waited on that instance again.
    @Test func `after a start's polls the first stall of a loop on an instance is found`() throws {
        let lines = try Self.lines("start-instance", .run)
        Self.expectStall(lines, in: "handler_that_naps")
    }

    @Test func `a start that rests after a single wait on an instance is not a stall`() throws {
        let lines = try Self.lines("start-instance-rests", .run, hasLoop: false)
        #expect(lines.isEmpty, "\(lines)")
    }

    /// The loop's call site may be deeper than the startup code, and an idle program waits there once.
    @Test func `a loop deeper than the startup code is not taken for a handler that waits`() throws {
        let lines = try Self.lines("start-outer", .run)
        #expect(lines.isEmpty, "\(lines)")
    }

    /// Within seconds of the start, deeper waits may be those of the loop, and earlier waits those of startup code, unless the
    /// handler serves a connection.
    @Test(arguments: [("serves", 1), ("calls", 0)])
    func `a young loop inside a handler is a stall only if it serves a connection`(name: String, stalls: Int) throws {
        let lines = try Self.lines(name, .run)
        #expect(lines.count == stalls, "\(lines)")
        #expect(lines.allSatisfy { Self.functions($0).contains("handler_that_turns") }, "\(lines)")
    }

    /// Both look the same until the loop returns to its wait.
    @Test func `startup code that is over does not hang, but a young loop does`() throws {
        let options = ["--hang-after-ms", "600"]
        let over = try Self.lines("over", .run, options)
        #expect(over.isEmpty, "\(over)")
        let lines = try Self.lines("over-returns", .run, options)
        #expect(lines.map { $0["phase"] as? String } == ["begin", "end"], "\(lines)")
    }

    @Test func `a sleeping handler is a stall of a loop that polls and sleeps`() throws {
        let lines = try Self.lines("looks", .run)
        Self.expectStall(lines, in: "handler_that_naps")
    }

    /// The kernel does not show requests of other threads to a libev loop while a handler runs.
    @Test func `with libev in a threaded program it is unknown whether work is pending`() throws {
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
