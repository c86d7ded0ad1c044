import Foundation
import LagDiagnosis
import Testing

/// The name of a program's own file in records.
struct ProgramFilesTests {
    /// For a process in a folder with a copy of the shell as `file`, a link to it as `link`, and a script.
    private static func files(of name: String) throws -> ProgramFiles {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID())").resolvingSymlinksInPath()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath(),
            to: folder.appendingPathComponent("file")
        )
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "file")
        try "#!\(folder.path)/file\nread line\n".write(toFile: folder.path + "/script", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path + "/script")
        let process = Process()
        process.executableURL = folder.appendingPathComponent(name)
        process.arguments = name == "script" ? [] : ["-c", "read line"]
        // It waits for a line that never comes.
        process.standardInput = Pipe()
        try process.run()
        defer {
            // It may have inherited a blocked SIGTERM from a thread of Dispatch.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        // Until then it is a copy of this process.
        var files = ProgramFiles(executable: nil)
        for _ in 0..<1000 {
            files = ProgramFiles.read(of: process.processIdentifier, after: nil)
            if files.executable == folder.path + "/file" { break }
            usleep(5000)
        }
        #expect(files.executable == folder.path + "/file")
        #expect(files.name(ofModule: "/usr/lib/libc.so.6") == "libc.so.6" && files.name(ofModule: "[vdso]") == "[vdso]")
        return files
    }

    @Test func `a program started through a link is named after the link`() throws {
        let files = try Self.files(of: "link")
        #expect(files.linkName == "link")
        #expect(files.name(ofModule: try #require(files.executable)) == "link")
        // Users' prefixes apply to the names shown in records.
        let rules = InAppRules(notInAppPrefixes: ["link"], program: files)
        #expect(!rules.isInApp(modulePath: files.executable, symbol: "f"))
        #expect(InAppRules(program: files).isInApp(modulePath: files.executable, symbol: "f"))
    }

    @Test func `a program started without a link is named after its file`() throws {
        let files = try Self.files(of: "file")
        #expect(files.linkName == nil)
        #expect(files.name(ofModule: try #require(files.executable)) == "file")
    }

    @Test func `an interpreter is not named after its script`() throws {
        let files = try Self.files(of: "script")
        #expect(files.name(ofModule: try #require(files.executable)) == "file")
    }
}
