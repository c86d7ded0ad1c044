import Foundation
import LagOutput
import TestSupport
import Testing

/// The schema that the program prints.
enum SchemaFile {
    private static let printed = Result { try output(of: "lagmond", ["schema"]) }

    static func json() throws -> [String: Any] {
        let (status, data) = try printed.get()
        #expect(status == 0)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}

/// Runs a program in the folder of the test binary and returns its output.
func output(of program: String, _ arguments: [String]) throws -> (status: Int32, data: Data) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent(program)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, data)
}

func lines(_ data: Data) -> [Data] { data.split(separator: UInt8(ascii: "\n")).map { Data($0) } }
