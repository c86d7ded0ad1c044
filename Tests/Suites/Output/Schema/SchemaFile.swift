import Foundation
import LagOutput
import TestSupport
import Testing

/// The schema, as the program prints it.
enum SchemaFile {
    private static let printed = Result { try output(of: "lagmond", ["schema"]) }

    static func json() throws -> [String: Any] {
        let (status, data) = try printed.get()
        #expect(status == 0)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
}

/// The output of a program that stands beside the test binary.
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
