internal import Glibc

/// Everything a program with this workload has to tell people goes here; stdout carries records and nothing else.
package enum Diagnostics {
    /// What stands in front of every message: the name the program was started by.
    private static let program = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "lagmond"

    /// Writes one line to stderr, with one `write` where the kernel lets us. Any thread.
    package static func say(_ message: String) {
        var line = Array("\(program): \(message)\n".utf8)[...]
        while !line.isEmpty {
            let count = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { line = line.dropFirst(count) } else if errno != EINTR { return }
        }
    }

    /// The text of an error number.
    package static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
