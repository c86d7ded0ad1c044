internal import ArgumentParser
internal import Glibc

/// `lagmond schema`: prints the JSON Schema of every line, or the table of its fields.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema (2020-12) of every line that is written.",
        discussion: "It validates one line. Members that it does not name are allowed: later versions add some."
    )

    @Flag(help: "Print the table of fields as Markdown instead.")
    var markdown = false

    func run() throws {
        // If stdout's reader is gone, a write reports that instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        try StandardOutput.write(Array((markdown ? FieldDocument.markdown : StallSchema.text).utf8))
    }
}
