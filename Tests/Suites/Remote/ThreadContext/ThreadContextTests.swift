internal import CLagBeacon
internal import Foundation
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

#if arch(x86_64)
    /// Contexts published by a program, tested with a writer in C that was written from the text of the standard.
    @Suite(.enabled(if: PublishingProgram.compiler != nil, "needs clang on the PATH"))
    struct ThreadContextTests {
        private static let texts = [
            "GET /orders/:id", "http_route", "/orders/:id", "http_method", "GET", "user", "bob",
        ]

        @Test(arguments: WriterPlace.allCases, ["sleeping", "computing"])
        func `the context of a thread is read wherever its writer is located`(place: WriterPlace, how: String) throws {
            let program = try PublishingProgram(place, [how])
            let found = try #require(program.context())
            #expect(found.context.trace_high == 0x0af7_6519_16cd_43dd && found.context.trace_low == 0x8448_eb21_1c80_319c)
            #expect(found.context.span == 0xb7ad_6b71_6920_3331 && found.context.opened_ns == 0)
            #expect(found.texts == Self.texts)
            // A second read gives the same context.
            #expect(program.context()?.token == found.token)
            // The main thread has no context.
            #expect(program.take(how == "main" ? nil : Self.mainThread(of: program.tid)).context == nil)
        }

        @Test func `the context of the main thread is read as well`() throws {
            #expect(try PublishingProgram(.program, ["main"]).context()?.texts == Self.texts)
            #expect(try PublishingProgram(.loaded, ["main"]).context()?.texts == Self.texts)
        }

        @Test func `the context is read however its memory mapping is named`() throws {
            for naming in ["0", "1", "2"] {
                // Not every kernel supports names of anonymous memory.
                let program = try PublishingProgram(.program, ["sleeping", naming])
                let maps = try String(contentsOfFile: "/proc/\(program.tid)/maps", encoding: .utf8)
                guard maps.contains("OTEL_CTX") else { continue }
                #expect(program.context()?.texts == Self.texts, "\(naming)")
            }
        }

        @Test(arguments: ["tls_v1", "tlsdesc_v1_dev"]) func `both names of the schema are supported`(schema: String) throws {
            #expect(try PublishingProgram(.program, ["sleeping", "0", schema]).context() != nil)
        }

        @Test func `another schema or a detached context is not read`() throws {
            for arguments in [["sleeping", "0", "go_pprof_labels_v1"], ["detached"]] {
                let program = try PublishingProgram(.program, arguments)
                _ = eventually { program.take().outcome.method == .passive }
                #expect(program.take().context == nil)
            }
        }

        private static func mainThread(of tid: Int32) -> Int32? {
            let status = (try? String(contentsOfFile: "/proc/\(tid)/status", encoding: .utf8)) ?? ""
            let line = status.split(separator: "\n").first { $0.hasPrefix("Tgid:") }
            return line?.split(separator: "\t").last.flatMap { Int32($0) }
        }

        // MARK: Records

        /// Watches a program whose loop stalls repeatedly, until its records are as expected.
        private func records(_ how: String, milliseconds: Int = 400, until isThere: ([String]) -> Bool) throws -> (Bool, [String])
        {
            let process = Process()
            let built = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            process.executableURL = built.appendingPathComponent("ForeignProbe")
            process.arguments = ["context", "loop-\(how)", "0", "tlsdesc_v1_dev", "\(milliseconds)"]
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            defer {
                kill(process.processIdentifier, SIGKILL)
                process.waitUntilExit()
            }
            var configuration = StallMonitorConfiguration()
            configuration.rules = StallRules()
            configuration.rules.starvationThreshold = nil
            configuration.limits = .none
            let sink = MemorySink()
            let watch = try AttachWatch(
                process: process.processIdentifier,
                configuration: RemoteConfiguration(configuration),
                sink: sink,
                reportError: { Issue.record("\($0)") }
            )
            try watch.start()
            defer { watch.stop() }
            var ended: [String] = []
            let found = eventually {
                ended = sink.lines.filter { $0.contains(#""phase":"end""#) }
                return isThere(ended)
            }
            return (found, ended)
        }

        @Test(arguments: ["sleeping", "computing"]) func `the record of a stall names the request`(how: String) throws {
            let parts = [
                #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331""#,
                #""request":{"name":"GET /orders/:id","running":true,"attributes":{"http_route":"/orders/:id","http_method":"GET","user":"bob"}}"#,
            ]
            let (isThere, lines) = try records(how) { lines in
                lines.last.map { line in parts.allSatisfy { line.contains($0) } } ?? false
            }
            #expect(isThere, "\(lines.last ?? "")")
        }

        /// One sample in the stall does not prove that the request ran for most of it.
        @Test(arguments: ["sleeping", "computing"])
        func `the record of a stall barely longer than the threshold names the request`(how: String) throws {
            func isShort(_ line: String) -> Bool {
                guard let start = line.firstRange(of: #""duration_ms":"#)?.upperBound else { return false }
                return Double(line[start...].prefix { $0.isNumber || $0 == "." }).map { $0 < 190 } ?? false
            }
            let (isThere, lines) = try records(how, milliseconds: 165) { lines in
                lines.filter { isShort($0) && $0.contains(#""name":"GET /orders/:id""#) }.count >= 3
            }
            let named = lines.map { (isShort($0), $0.contains(#""name":"GET /orders/:id""#)) }
            print("of another process, \(how):", named)
            #expect(isThere, "\(named)")
        }
    }
#endif
