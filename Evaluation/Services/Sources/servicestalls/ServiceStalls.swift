internal import Foundation

/// Implements the protocol of `lagdiagnosis --program`: `list` prints the scenarios, a line of JSON for each;
/// `stall --scenario NAME` prints the monitor's records and, last, a ``ChildReport``. Other options are ignored: each scenario
/// has its own duration, and ends by itself.
@main struct ServiceStalls {
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
            guard let scenario = Corpus.scenarios.first(where: { $0.name == options["--scenario"] }) else {
                fail("stall --scenario NAME")
            }
            try ScenarioRun(scenario: scenario).execute()
        default:
            fail("list | stall …")
        }
    }

    private static func fail(_ usage: String) -> Never {
        FileHandle.standardError.write(Data("usage: servicestalls \(usage)\n".utf8))
        exit(EX_USAGE)
    }
}
