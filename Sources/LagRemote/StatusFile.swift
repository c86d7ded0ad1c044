internal import LagModel

/// The fields of `/proc/PID/status`, one per line (proc(5)).
package struct StatusFile {
    private let text: String

    /// One line names each supplementary group: 65,536 at most (NGROUPS_MAX), of eleven characters.
    package static let longestBytes = 1 << 20

    /// Empty if it cannot be read.
    package init(process: Int32) { text = ProcFile.text(at: "/proc/\(process)/status", limit: Self.longestBytes) ?? "" }

    var isEmpty: Bool { text.isEmpty }

    func value(_ name: String) -> Substring? {
        text.split(separator: "\n").first { $0.hasPrefix("\(name):") }?.dropFirst(name.utf8.count + 1)
    }

    package func numbers(_ name: String) -> [Int] {
        (value(name) ?? "").split(whereSeparator: { $0 == "\t" || $0 == " " }).compactMap { Int($0) }
    }

    func bits(_ name: String) -> UInt64 {
        (value(name) ?? "").split(whereSeparator: { $0 == "\t" || $0 == " " }).first.flatMap { UInt64($0, radix: 16) } ?? 0
    }
}
