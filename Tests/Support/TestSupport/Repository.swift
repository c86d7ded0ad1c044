public import Foundation

/// The checkout that the tests were compiled from.
public enum Repository {
    public static let root = {
        var folder = URL(fileURLWithPath: #filePath)
        // Tests/Support/TestSupport/Repository.swift
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder
    }()
}
