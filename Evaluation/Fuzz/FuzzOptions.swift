/// The command line.
struct FuzzOptions {
    static let help = """
        usage: lagfuzz [--seconds N] [--seed N] [--corpus FOLDER] [--lagmond PATH] [TARGET]...
               lagfuzz --replay [--corpus FOLDER] [TARGET]...

          --seconds N      the total time, divided among the targets (60)
          --seed N         the seed of the mutations (1)
          --corpus FOLDER  the folder of the finds, with a folder for each target (Evaluation/Fuzz/Corpus)
          --lagmond PATH   the lagmond for the targets that need it (beside this program)
          --replay         only read the finds of the corpus again, and report those that still fail

        targets: \(Lagfuzz.targets.map { $0.name }.joined(separator: ", "))
        Prints a line for each target on stdout. Exits with 1 if there is a find.
        """

    var seconds = 60.0
    var seed: UInt64 = 1
    var corpus = "Evaluation/Fuzz/Corpus"
    var lagmond: String?
    var replays = false
    var names: [String] = []
    /// The options of a child: only the target, and where it publishes its input.
    var child: String?

    init(_ arguments: [String]) throws(FuzzError) {
        var rest = arguments[...]
        func value(_ option: String) throws(FuzzError) -> String {
            guard let value = rest.popFirst() else { throw FuzzError("\(option) needs a value") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--seconds":
                guard let number = Double(try value(argument)), number > 0 else { throw FuzzError("--seconds: a number above 0") }
                seconds = number
            case "--seed":
                guard let number = UInt64(try value(argument)) else { throw FuzzError("--seed: a whole number") }
                seed = number
            case "--corpus": corpus = try value(argument)
            case "--lagmond": lagmond = try value(argument)
            case "--replay": replays = true
            case "--child": child = try value(argument)
            default:
                guard Lagfuzz.targets.contains(where: { $0.name == argument }) else {
                    throw FuzzError("unknown argument '\(argument)'")
                }
                names.append(argument)
            }
        }
        if names.isEmpty { names = Lagfuzz.targets.map { $0.name } }
    }
}
