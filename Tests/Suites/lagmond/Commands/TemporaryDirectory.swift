internal import Foundation
internal import Testing

/// A directory that exists for one test.
struct TemporaryDirectory {
    let path: String

    static func with<Result>(_ body: (TemporaryDirectory) throws -> Result) throws -> Result {
        let path = NSTemporaryDirectory() + "/lagmond-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(TemporaryDirectory(path: path))
    }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ text: String, to name: String) {
        #expect(FileManager.default.createFile(atPath: file(name), contents: Data(text.utf8)))
    }

    func read(_ name: String) -> String { (try? String(contentsOfFile: file(name), encoding: .utf8)) ?? "" }
}
