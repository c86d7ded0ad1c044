internal import CLibraryStalls

/// All scenarios, in the order in which they are run.
enum Corpus {
    static let scenarios: [Scenario] = inC + foundation + foundationWaits + language + runtime + data + server

    private static var inC: [Scenario] { (0...).lazy.map(library_stall).prefix { $0 != nil }.map { Scenario($0!.pointee) } }
}
