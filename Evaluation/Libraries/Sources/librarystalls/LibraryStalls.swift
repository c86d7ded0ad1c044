internal import CLibraryStalls
internal import Foundation
internal import LagMonitor

/// Implements the protocol of `lagdiagnosis --program`: `list` prints the scenarios, a line of JSON for each;
/// `stall --scenario NAME --milliseconds N` prints the monitor's records and, last, a ``ChildReport``.
@main struct LibraryStalls {
    static func main() throws {
        signal(SIGPIPE, SIG_IGN)
        var arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.isEmpty ? "" : arguments.removeFirst() {
        case "list":
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            for scenario in Corpus.scenarios { print(String(decoding: try encoder.encode(scenario), as: UTF8.self)) }
        case "stall":
            let pairs = stride(from: 0, to: arguments.count - 1, by: 2).map { (arguments[$0], arguments[$0 + 1]) }
            let options = Dictionary(pairs) { $1 }
            guard let name = options["--scenario"], let scenario = Corpus.scenarios.first(where: { $0.name == name }),
                let milliseconds = options["--milliseconds"].flatMap(Int.init)
            else { fail("stall --scenario NAME --milliseconds N [--parent PID] [--announce true]") }
            die_with_parent()
            if let parent = options["--parent"], parent != "\(getppid())" { exit(EXIT_FAILURE) }
            let report: ChildReport
            do {
                let announces = options["--announce"] == "true"
                report = try ScenarioRun(scenario: scenario, milliseconds: milliseconds, announces: announces).execute()
            } catch let unavailable as Unavailable {
                report = .skipped(unavailable.reason)
            }
            stop_servers()
            try report.print()
            // Threads of servers and helpers may never end.
            _exit(EXIT_SUCCESS)
        default:
            fail("list | stall …")
        }
    }

    private static func fail(_ usage: String) -> Never {
        FileHandle.standardError.write(Data("usage: librarystalls \(usage)\n".utf8))
        exit(64)
    }
}
