internal import Foundation
internal import TestSupport
internal import Testing

/// The dependency rules inside lagmond that the compiler cannot check, because one program is one module.
@Suite struct DependencyTests {
    /// The workload is for demonstrations; code for production does not use it.
    @Test func `only the workload command imports the workload`() throws {
        let folder = Repository.root.appendingPathComponent("Sources/lagmond")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let importers = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .filter { try String(contentsOf: $0, encoding: .utf8).contains("import LagWorkload") }
            .map { String($0.path.dropFirst(folder.path.count + 1)) }
        #expect(!importers.isEmpty)
        #expect(importers.allSatisfy { $0.hasPrefix("Commands/Workload/") }, "\(importers)")
    }
}
