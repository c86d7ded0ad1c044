internal import Foundation

/// Passes a folder that is removed afterwards.
func withFolder(_ body: (String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("wrap-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

func text(of path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
