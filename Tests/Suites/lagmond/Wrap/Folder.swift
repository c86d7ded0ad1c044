internal import Foundation
internal import TestSupport

/// Passes a folder that is removed afterwards.
func withFolder(_ body: (String) throws -> Void) throws {
    try ScratchDirectory.with { try body($0.path) }
}

func text(of path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
