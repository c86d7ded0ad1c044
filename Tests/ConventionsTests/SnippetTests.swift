import Foundation
import Testing

@Suite struct SnippetTests {
    /// Lines without their indentation, blank ones left out.
    private func lines(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    @Test func everySnippetOfTheArticleIsCompiled() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appendingPathComponent("Sources/LagMonitor/LagMonitor.docc/Conventions.md"),
            encoding: .utf8
        )
        let code = try String(contentsOf: tests.appendingPathComponent("Snippets.swift"), encoding: .utf8)
        let compiled = "\n" + lines(code).joined(separator: "\n") + "\n"
        let snippets = article.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        #expect(snippets.count == 6)
        for snippet in snippets {
            #expect(compiled.contains("\n" + lines(snippet).joined(separator: "\n") + "\n"), "not compiled:\n\(snippet)")
        }
    }
}
