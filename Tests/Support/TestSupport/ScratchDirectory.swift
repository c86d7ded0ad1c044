internal import Foundation

/// A directory for the files of one test; it is removed with the object.
public final class ScratchDirectory: Sendable {
    public let path: String

    /// Removes it after `body`.
    public static func with<Result>(_ body: (ScratchDirectory) throws -> Result) throws -> Result {
        let scratch = try ScratchDirectory()
        return try withExtendedLifetime(scratch) { try body(scratch) }
    }

    public init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("lagmonitor-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // A process that is just ending may still write to it.
        for _ in 0..<100 where FileManager.default.fileExists(atPath: path) {
            if (try? FileManager.default.removeItem(atPath: path)) == nil { usleep(10_000) }
        }
    }

    /// The path of the file or folder `name` in it.
    public func file(_ name: String) -> String { path + "/" + name }

    public func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    public func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    /// The text of the file; empty without it.
    public func read(_ name: String) -> String { (try? text(name)) ?? "" }

    /// Writes the file, and creates its folder; its path.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    /// Writes the file, and creates its folder; its path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = URL(fileURLWithPath: file(name))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file.path
    }
}
