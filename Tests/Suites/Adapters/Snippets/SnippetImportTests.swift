import Foundation
import TestSupport
import Testing

/// A reader copies one snippet: one that imports modules compiles with only these, in a program that has what the snippet
/// assumes.
@Suite struct SnippetImportTests {
    #if NIO && Logging && Metrics && ServiceLifecycle && Configuration
        @Test func `a snippet with imports needs no other imports`() throws {
            let snippets = Snippet.all.filter { !$0.isManifest && !$0.code.isEmpty && !$0.imports.isEmpty }
            #expect(snippets.count > 25)
            let errors = try errors(of: snippets.map(\.program))
            #expect(errors == "", "\(errors)")
        }

        /// Tests the check itself.
        @Test func `a missing import is found`() throws {
            let text = ["import LagMonitor", "monitor.onStall(queue: .global()) { print($0.message) }"]
            let snippet = Snippet(file: "f", line: 1, text: text)
            #expect(try errors(of: [snippet.program]).contains("import of module 'Dispatch'"))
        }
    #else
        @Test(.disabled("build with --enable-all-traits")) func `a snippet with imports needs no other imports`() {}
    #endif

    /// One file each, so that none sees another's imports; one module, so that they see the assumed declarations.
    private func errors(of programs: [String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snippets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var files: [String] = []
        for (index, text) in (programs + [Self.surroundings]).enumerated() {
            let file = folder.appendingPathComponent("Snippet\(index).swift")
            try text.write(to: file, atomically: true, encoding: .utf8)
            files.append(file.path)
        }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.command, "sh"] + files
        process.currentDirectoryURL = Repository.root
        process.environment = ProcessInfo.processInfo.environment.merging(["PRODUCTS": Self.products]) { $1 }
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? "" : text
    }

    private static let products =
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    /// The compiler, with the modules that the suite was built with.
    private static let command = """
        set -- -I "$PRODUCTS/Modules" "$@"
        for folder in Sources/C*/include "$PRODUCTS"/../../checkouts/*/Sources/*/include; do set -- -I "$folder" "$@"; done
        for map in "$PRODUCTS"/*.build/module.modulemap; do set -- -Xcc "-fmodule-map-file=$map" "$@"; done
        compiler=$(command -v "${SWIFT:-swift}")c
        exec "$compiler" -typecheck -swift-version 6 -enable-upcoming-feature MemberImportVisibility \\
            -enable-upcoming-feature ExistentialAny -suppress-warnings "$@"
        """

    /// Declarations that snippets assume.
    private static let surroundings = """
        import Dispatch
        import LagMonitor
        import LagMonitorTestKit
        import Logging
        import NIOCore
        import NIOPosix
        import ServiceLifecycle

        var monitor: StallMonitor { StallMonitor() }
        var loop: ObservedRunLoop { .main }
        var kit: TestMonitor { try! TestMonitor() }
        var group: any EventLoopGroup { MultiThreadedEventLoopGroup.singleton }
        var logger: Logger { Logger(label: "shop") }
        var server: any Service { Server() }
        var metrics: CauseCounter { CauseCounter() }
        var theirs: RunLoopPort { RunLoopPort { _, _ in } }
        var database: Database { try! Database(path: path) }
        let path = "/var/lib/shop"
        let (tenant, request) = ("acme", "GET /orders/7")
        let bytes: [UInt8] = []
        let queue = PingedQueue(.main)
        let rules = StallRules.pings
        let store = ImageStore()

        func serve() async throws {}
        func loadAll() async {}
        func writeIndex() {}
        func respond(to request: String) {}
        func respondLater(to request: String) async {}
        func migrateDatabase() {}

        struct Server: Service {
            func run() async throws {}
        }
        struct CauseCounter: Sendable {
            func count(_ cause: StallRecord.Cause) {}
        }
        struct Database {
            init(path: String) throws {}
            func open() throws {}
        }
        struct AlertBook {
            let titles: [String] = []
            init(_ stalls: some StallSource) {}
        }
        extension PingedQueue {
            var count: Int { 0 }
        }
        extension Pump {
            func submit(_ work: @escaping @Sendable () -> Void) { work() }
        }
        """
}

extension Snippet {
    /// The snippet as a file: declarations unchanged, statements in a function.
    fileprivate var program: String {
        let lines = ["#sourceLocation(file: \"\(file)\", line: \(line))"] + text + ["#sourceLocation()"]
        guard !isDeclarations else { return lines.joined(separator: "\n") }
        let imports = text.map { $0.trimmingCharacters(in: .whitespaces).hasPrefix("import ") }
        let body = zip(text, imports).map { $1 ? "" : $0 }
        let head = zip(text, imports).filter(\.1).map(\.0)
        let name = "snippet\(line)In\(file.filter { $0.isLetter || $0.isNumber })"
        let opening = "func \(name)()\(isAsynchronous ? " async" : "") throws {"
        return (head + [opening, lines[0]] + body + ["#sourceLocation()", "}"]).joined(separator: "\n")
    }

    private var isAsynchronous: Bool { code.contains { $0.contains("await ") } }

    /// Whether all of it is allowed outside functions.
    private var isDeclarations: Bool {
        var depth = 0
        for line in code {
            let starts = ["public ", "final ", "struct ", "enum ", "extension ", "func ", "}"]
            if depth == 0, !starts.contains(where: line.hasPrefix) { return false }
            depth += line.filter { $0 == "{" }.count - line.filter { $0 == "}" }.count
        }
        return true
    }
}
