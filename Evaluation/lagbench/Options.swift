/// An error in the command line.
struct UsageError: Error, CustomStringConvertible {
    let description: String
}

/// The command line.
struct Options {
    enum Probe: String, CaseIterable { case rss }
    enum Verb {
        case run, help, list
        case probe(Probe)
    }

    static let help = """
        usage: lagbench [--only NAME]... [--subject PATH] [--markdown] [--check] [--list]

          --only NAME   measure only this figure; may be repeated
          --subject PATH  look up names and lines in this program instead of lagbench itself
          --markdown    write a table instead of lines
          --check       exit with 1 if a target is missed (by default missed targets are only reported)
          --list        list the figures
          --help        show this text
        """

    private(set) var verb = Verb.run
    private(set) var only: Set<String> = []
    private(set) var subject: String?
    private(set) var markdown = false
    private(set) var check = false

    /// - Parameter names: the names of all benchmarks.
    init(arguments: some Sequence<String>, names: [String]) throws(UsageError) {
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": verb = .help
            case "--list": verb = .list
            case "--markdown": markdown = true
            case "--check": check = true
            case "--only": only.insert(try Self.value(of: argument, from: rest.popFirst(), allowed: names))
            case "--subject":
                guard let path = rest.popFirst() else { throw UsageError(description: "\(argument) needs the path of a program") }
                subject = path
            case "--probe":
                let probes = Probe.allCases.map(\.rawValue)
                // The name is known, because otherwise the line above has thrown.
                verb = .probe(Probe(rawValue: try Self.value(of: argument, from: rest.popFirst(), allowed: probes))!)
            default: throw UsageError(description: "unknown argument '\(argument)'")
            }
        }
    }

    private static func value(of option: String, from given: String?, allowed: [String]) throws(UsageError) -> String {
        let choice = "allowed is one of \(allowed.joined(separator: ", "))"
        guard let given else { throw UsageError(description: "\(option) needs a value; \(choice)") }
        guard allowed.contains(given) else { throw UsageError(description: "\(option) is '\(given)'; \(choice)") }
        return given
    }
}
