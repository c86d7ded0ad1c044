import Foundation
import Testing

/// All Swift code in the documentation is in this target's `Snippets`, word for word, and is thereby compiled. Comments and
/// indentation may differ.
@Suite struct SnippetTests {
    /// Each file separately, so that no snippet continues from one file into the next. Snippets of tests are run.
    private static let compiled =
        Snippet.files(below: folder + "/Snippets", "swift").map { CodeText.lines(Snippet.content(of: $0)) }
        + [CodeText.lines(Snippet.content(of: folder + "/SnippetRunTests.swift"))]
    private static let folder = "Tests/Suites/Adapters/Snippets"
    private static let code = Snippet.all.filter { !$0.isManifest && !$0.code.isEmpty }
    private static let manifests = Snippet.all.filter { $0.isManifest || !$0.dependencies.isEmpty }

    private func isCompiled(_ code: [String]) -> Bool { Self.compiled.contains { CodeText.contains($0, code) } }

    @Test(arguments: code) func `a snippet is compiled`(_ snippet: Snippet) {
        #expect(
            isCompiled(snippet.code),
            "not in Tests/Suites/Adapters/Snippets/Snippets:\n\(snippet.text.joined(separator: "\n"))"
        )
        for line in snippet.imports { #expect(Self.compiled.joined().contains(line), "\(line)") }
    }

    /// A reader copies one snippet: each names the modules that it needs.
    @Test(arguments: code) func `a snippet shows its imports`(_ snippet: Snippet) {
        #expect(snippet.imports.contains { $0.hasPrefix("import LagMonitor") }, "no import of LagMonitor")
    }

    /// Tests the check itself: with any line changed, no snippet would pass.
    @Test(arguments: code) func `a changed snippet is not found`(_ snippet: Snippet) {
        for index in snippet.code.indices {
            var changed = snippet.code
            changed[index] += "x"
            #expect(!isCompiled(changed), "\(changed)")
        }
    }

    /// Code for `Package.swift` is loaded as a manifest, and names existing products and traits.
    @Test(arguments: manifests) func `a manifest snippet is valid`(_ snippet: Snippet) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snippet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var manifest = snippet.text
        if !snippet.isManifest {
            manifest = ["// swift-tools-version: 6.2", "import PackageDescription"]
            manifest += ["let package = Package(name: \"snippet\", dependencies: ["]
            manifest += CodeText.lines(snippet.dependencies).map { $0.hasSuffix(",") ? $0 : $0 + "," } + ["])"]
        }
        let text = manifest.joined(separator: "\n")
        try text.write(to: folder.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
        // SwiftPM leaves files in the folder for temporary ones.
        let dump = try run("TMPDIR=\(folder.path)", "swift", "package", "--package-path", folder.path, "dump-package")
        #expect(dump.status == 0, "\(text)\n\(dump.output)")

        let own = CodeText.lines(Snippet.content(of: "Package.swift")).joined().replacing("( ", with: "(")
        for trait in names(in: text, #"traits: \[([^\]]*)\]"#) { #expect(own.contains(".trait(name: \(trait)"), "\(trait)") }
        for product in names(in: text, #"\.product\(name: ("[^"]*"), package: "LagMonitor"\)"#) {
            #expect(own.contains(".library(name: \(product)"), "\(product)")
        }
    }

    @Test func `snippets are found in all documents`() {
        let files = Set(Snippet.all.map(\.file))
        for file in ["README.md", "Sources/LagMonitor/StallMonitor.swift", "Sources/LagMonitor/LagMonitor.docc/Conventions.md"] {
            #expect(files.contains(file), "\(files)")
        }
        #expect(Snippet.all.count > 30 && !Self.manifests.isEmpty)
    }

    #if NIO && Logging && Metrics && ServiceLifecycle && Configuration
    #else
        @Test(.disabled("build with --enable-all-traits: some snippets were not compiled")) func `every snippet was compiled`() {}
    #endif

    /// Quoted names in the group that the pattern matches.
    private func names(in text: String, _ pattern: String) -> [String] {
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
        let matches = expression.matches(in: text, range: NSRange(text.startIndex..., in: text))
        let groups = matches.compactMap { Range($0.range(at: 1), in: text).map { String(text[$0]) } }
        return groups.flatMap { $0.components(separatedBy: ",") }.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
    }

    private func run(_ command: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
