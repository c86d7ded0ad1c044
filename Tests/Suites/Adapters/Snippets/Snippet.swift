import Foundation
import TestSupport
import Testing

/// A piece of Swift that the documentation shows: in README.md, an article, or a documentation comment.
struct Snippet: Sendable, CustomTestStringConvertible {
    let file: String
    /// The number of its first line, from 1.
    let line: Int
    let text: [String]

    var testDescription: String { "\(file):\(line)" }

    /// A whole manifest, not part of a source file.
    var isManifest: Bool { text.first?.hasPrefix("// swift-tools-version:") == true }

    /// Entries of a manifest's list of dependencies, among other code.
    var dependencies: [String] { text.filter { $0.trimmingCharacters(in: .whitespaces).hasPrefix(".package(") } }

    /// The modules that it imports; for the remaining code see ``CodeText``.
    var imports: [String] { CodeText.lines(text).filter { $0.hasPrefix("import ") } }
    var code: [String] { CodeText.lines(text).filter { !$0.hasPrefix("import ") && !$0.hasPrefix(".package(") } }

    /// All snippets.
    static let all: [Snippet] = {
        var snippets = files(below: "Sources/LagMonitor/LagMonitor.docc", "md").flatMap(inPage)
        snippets += ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].flatMap(inPage)
        snippets += files(below: "docs", "md").flatMap(inPage)
        return snippets + files(below: "Sources", "swift").flatMap(inComments)
    }()

    static func files(below folder: String, _ type: String) -> [String] {
        let found = FileManager.default.enumerator(atPath: Repository.root.appendingPathComponent(folder).path)
        return (found?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".\(type)") }.sorted().map { "\(folder)/\($0)" }
    }

    static func content(of file: String) -> [String] {
        let text = (try? String(contentsOf: Repository.root.appendingPathComponent(file), encoding: .utf8)) ?? ""
        return text.components(separatedBy: "\n")
    }

    private static func inPage(_ file: String) -> [Snippet] { blocks(file, content(of: file)) }

    private static func inComments(_ file: String) -> [Snippet] {
        let comments = content(of: file).map { line -> String in
            let line = line.trimmingCharacters(in: .whitespaces)
            return line.hasPrefix("///") ? String(line.dropFirst(3)) : ""
        }
        return blocks(file, comments)
    }

    private static func blocks(_ file: String, _ lines: [String]) -> [Snippet] {
        var (snippets, begin): ([Snippet], Int?) = ([], nil)
        for (index, line) in lines.enumerated() {
            let mark = line.trimmingCharacters(in: .whitespaces)
            if let first = begin, mark == "```" {
                snippets.append(Snippet(file: file, line: first + 1, text: Array(lines[first..<index])))
                begin = nil
            } else if begin == nil, mark.lowercased().hasPrefix("```swift") {
                begin = index + 1
            }
        }
        // A snippet without an end cannot be checked.
        if let begin { snippets.append(Snippet(file: file, line: begin + 1, text: ["#error(\"not closed\")"])) }
        return snippets
    }
}

/// Code as the compiler reads it: without comments, indentation, blank lines.
enum CodeText {
    static func lines(_ text: [String]) -> [String] {
        text.map { line in
            var line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("//") { return "" }
            // A string may contain `https://`, but hardly after a blank.
            if let comment = line.range(of: " // ") { line = String(line[..<comment.lowerBound]) }
            return line.split(separator: " ").joined(separator: " ")
        }.filter { !$0.isEmpty }
    }

    /// Whether these lines occur one after the other.
    static func contains(_ text: [String], _ lines: [String]) -> Bool {
        guard let first = lines.first else { return false }
        return text.indices.contains { text[$0] == first && text[$0...].prefix(lines.count).elementsEqual(lines) }
    }
}
