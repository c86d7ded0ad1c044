internal import ArgumentParser
internal import Glibc
internal import LagWorkload

/// `lagmond schema`: prints the JSON Schema of every line, the file beside this one, which is part of the program.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema (2020-12) of every line that is written.",
        discussion: "Validates one line. Members that it does not name are allowed: later versions add some."
    )

    func run() throws {
        // The end of stdout's reader is an answer to a write.
        signal(SIGPIPE, SIG_IGN)
        var rest = PackageResources.lagmonitor_stall_v1_schema_json[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EPIPE { return }
            guard count > 0 else {
                throw StartFailure(status: ExitStatus.systemError, message: "stdout: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}
