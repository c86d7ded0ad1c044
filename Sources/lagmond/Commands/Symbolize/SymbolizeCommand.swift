internal import ArgumentParser
internal import Glibc
internal import LagDiagnosis
internal import LagSymbols

/// `lagmond symbolize`: adds files, lines and inlined functions to records that lack them.
struct SymbolizeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "symbolize",
        abstract: "Add files, lines and inlined functions to stall records.",
        discussion: """
            Reads records from the files, or from stdin, and writes them with file, line, inlined, and symbols that are missing, \
            from each frame's build_id and offset. Works on any machine that has the binaries; everything else in a line stays unchanged.
            """
    )

    @Argument(help: ArgumentHelp("Files with records, a JSON line each; - is stdin.", valueName: "file"))
    var files: [String] = ["-"]

    @Option(help: ArgumentHelp("A program or library of the records' processes; may be repeated.", valueName: "path"))
    var binary: [String] = []

    @Option(help: ArgumentHelp("A folder to search for binaries by build-id; may be repeated.", valueName: "folder"))
    var search: [String] = []

    @Option(
        help: ArgumentHelp(
            "A folder with .build-id/xx/….debug files, in addition to /usr/lib/debug; may be repeated.",
            valueName: "folder"
        )
    )
    var debugRoot: [String] = []

    @Option(help: ArgumentHelp("The llvm-symbolizer to use; by default the toolchain's or the system's.", valueName: "path"))
    var symbolizer: String?

    @Option(
        help: ArgumentHelp(
            "A prefix of modules or symbols that are the program's own code, as monitor.in_app_prefixes; may be repeated.",
            valueName: "prefix"
        )
    )
    var inAppPrefix: [String] = []

    @Option(
        help: ArgumentHelp(
            "A prefix of modules or symbols that are not the program's own code, as monitor.not_in_app_prefixes; may be repeated.",
            valueName: "prefix"
        )
    )
    var notInAppPrefix: [String] = []

    @Flag(help: "Write readable text, one paragraph per record.")
    var text = false

    func validate() throws { try InputOptions.validate(files) }

    func run() throws {
        // If stdout's reader is gone, a write reports that instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        try InputOptions.refuseStandardOutput(among: files)
        if let symbolizer, !SymbolizerProgram.isProgram(symbolizer) {
            let message = "\(symbolizer): not a program; allowed: an llvm-symbolizer"
            throw StartFailure(status: ExitStatus.unavailable, message: message)
        }
        let finder = try BinaryFinder(binaries: binary, searchFolders: search, debugRoots: debugRoot)
        let program = symbolizer ?? SymbolizerProgram.find()
        if program == nil {
            Diagnostics.report("no llvm-symbolizer in PATH, /usr/bin or /usr/lib/llvm-*/bin: only names, no files and lines")
        }
        let rules = InAppRules(inAppPrefixes: inAppPrefix, notInAppPrefixes: notInAppPrefix)
        var work = Symbolization(finder: finder, symbolizer: program, rules: rules, isText: text)
        let status = work.run(files)
        if status != ExitStatus.success { throw ExitCode(status) }
    }
}
