internal import ArgumentParser
internal import Glibc

/// `lagmond schema`: prints the JSON Schema of every line, the file beside this one, which is part of the program.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema (2020-12) of every line that is written.",
        discussion: "It validates one line. Members that it does not name are allowed: later versions add some."
    )

    func run() throws {
        // The end of stdout's reader is an answer to a write.
        signal(SIGPIPE, SIG_IGN)
        try StandardOutput.write(PackageResources.lagmonitor_stall_v1_schema_json)
    }
}
