internal import Glibc
internal import LagModel

/// The workload's messages on stderr, with the program's name in front.
package enum WorkloadMessage {
    package static func write(_ message: String) {
        let program = CommandLine.arguments.first?.split(separator: "/").last ?? "workload"
        let line = Array("\(PlainText.sanitized("\(program): \(message)"))\n".utf8)
        _ = line.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// The text of an error number.
    static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
