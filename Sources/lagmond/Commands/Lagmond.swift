internal import ArgumentParser
internal import CLagRemote
internal import Glibc
internal import LagMonitor
internal import LagSymbols

/// The entry point: parses the command line and runs a command.
@main
struct Lagmond: ParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "lagmond",
        abstract: "Reports the stalls of run loops and event loops, one JSON line each.",
        discussion: """
            Records of a command or of targets go to lagmond-stalls.jsonl (or --output), because stdout and stderr belong to the command or the \
            targets. All other records go to stdout (or --output). Messages go to stderr.

            Exit codes: 0 the run ended normally (time over, SIGTERM, SIGINT, or the reader of stdout is gone); \
            1 check found damage, or a target failed; 64 usage; 66 an input is missing or cannot be read; 69 libunwind (or the named symbolizer) is missing; 71 the system refused a thread, socket or file; \
            73 the output cannot be opened; 77 no permission to read a process; 78 a setting is wrong or unknown; with a command: the command's own, 126 it cannot be run, 127 it was not found.
            """,
        version: version,
        subcommands: [
            RunCommand.self, AttachCommand.self, TopCommand.self, CheckCommand.self, ReportCommand.self, ExportCommand.self,
            SymbolizeCommand.self,
            SchemaCommand.self,
        ],
        defaultSubcommand: RunCommand.self
    )

    static func main() {
        Diagnostics.reserveStandardDescriptors()
        clr_process_report_crashes("lagmond")
        LineSymbols.enable()
        let arguments = Array(ProcessArguments.all.dropFirst())
        // `run` is the default subcommand: its options belong to the general help.
        if [["--help"], ["-h"], ["help"]].contains(arguments) {
            finish(printing: helpMessage(for: Lagmond.self) + "\n" + helpMessage(for: RunCommand.self))
        }
        if arguments.first == "help", let name = arguments.dropFirst().first, !(names + ["help"]).contains(name),
            !name.hasPrefix("-")
        {
            Diagnostics.report("help: \(name): not a command of lagmond (allowed: \(names.joined(separator: ", ")))")
            Glibc.exit(ExitStatus.usage)
        }
        do {
            var command = try parseAsRoot(partToParse(arguments))
            try command.run()
        } catch let failure as StartFailure {
            Diagnostics.report(failure.message)
            Diagnostics.flush()
            Glibc.exit(failure.status)
        } catch let error as SettingsError {
            for problem in error.errors { Diagnostics.report("\(problem)") }
            Glibc.exit(ExitStatus.configuration)
        } catch {
            if exitCode(for: error) == .validationFailure, let hint = forgottenDashes(arguments) { Diagnostics.report(hint) }
            // The parser itself would ignore that it cannot write the text.
            if exitCode(for: error).isSuccess { finish(printing: fullMessage(for: error)) }
            exit(withError: error)
        }
    }

    /// Ends lagmond with a text for stdout: a help or the version.
    private static func finish(printing text: String) -> Never {
        // If stdout's reader is gone, the write reports that instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        do throws(ExitCode) {
            if !text.isEmpty { try StandardOutput.write(Array("\(text)\n".utf8)) }
        } catch {
            Diagnostics.flush()
            Glibc.exit(error.rawValue)
        }
        Glibc.exit(ExitStatus.success)
    }

    /// The names of the commands.
    private static let names = configuration.subcommands.compactMap { $0.configuration.commandName }

    /// Of a command that is run, the parser gets only the name: ``WrappedCommand`` has the rest, and the parser's time grows with
    /// the square of the number of arguments (4000: eight seconds in a debug build).
    static func partToParse(_ arguments: [String]) -> [String] {
        guard let dashes = arguments.firstIndex(of: "--"), let first = arguments.first,
            first == RunCommand.configuration.commandName || !names.contains(first)
        else { return arguments }
        return Array(arguments.prefix(dashes + 2))
    }

    /// The hint for a user who forgot `run --` or `--` before a program; nil: the arguments do not begin with a program.
    static func forgottenDashes(_ arguments: [String]) -> String? {
        let isAfterRun = arguments.first == RunCommand.configuration.commandName
        let command = isAfterRun ? arguments.dropFirst() : arguments[...]
        guard let program = command.first, !program.hasPrefix("-"), isAfterRun || !(names + ["help"]).contains(program),
            !arguments.contains("--")
        else { return nil }
        let line = command.joined(separator: " ")
        return "\(program): not a command of lagmond; to run and watch a program: lagmond run -- \(line)"
    }
}
