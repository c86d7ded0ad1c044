import Foundation
import LagDiagnosis
import Testing

/// The place of a function of this process in its file.
struct CodePlace {
    let path: String
    let offset: UInt64

    init(of address: UnsafeRawPointer) throws {
        let address = UInt64(UInt(bitPattern: address))
        // Not String(contentsOfFile:), which reads only one page of a file in /proc.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let maps = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        let lines = maps.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        let ranges = lines.compactMap { fields -> (low: UInt64, high: UInt64, path: String)? in
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            return fields.count == 6 && ends.count == 2 ? (ends[0], ends[1], String(fields[5])) : nil
        }
        let home = try #require(ranges.first { $0.low <= address && address < $0.high })
        path = home.path
        // Programs and libraries are both linked to begin at address 0.
        offset = address - (try #require(ranges.first { $0.path == home.path }).low)
    }

    func query(_ buildID: String = "", path other: String? = nil) -> SymbolQuery {
        SymbolQuery(modulePath: other ?? path, buildID: buildID, offset: offset, isReturnAddress: false)
    }

    /// The build ID of its file, as binutils read it.
    func buildID() throws -> String {
        let line = try run("readelf", "-n", path).split(separator: "\n").first { $0.contains("Build ID:") }
        return String(try #require(line?.split(separator: " ").last))
    }
}
