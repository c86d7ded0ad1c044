/// A reader of untrusted bytes. Any result is allowed, but the reader must not trap, hang or use unlimited memory.
///
/// Runs on one thread in a child process. A crash or hang of the process is a find.
protocol FuzzTarget: AnyObject {
    /// The name on the command line and in the corpus.
    static var name: String { get }
    /// Complete inputs from which the mutations start; at least one.
    var seeds: [[UInt8]] { get throws }
    /// Pieces that mutations insert into inputs.
    var tokens: [String] { get }

    init(_ surroundings: FuzzSurroundings) throws

    /// - Throws: an error if the reader produced a wrong result without a crash.
    func read(_ input: [UInt8]) throws

    /// Ends the processes that it started.
    func finish()
}

extension FuzzTarget {
    var tokens: [String] { [] }
    func finish() {}
}

/// The environment of targets.
struct FuzzSurroundings {
    /// An empty folder, which only this target uses.
    let folder: String
    /// The lagmond beside this program; nil: it does not exist.
    let lagmond: String?

    func write(_ input: [UInt8], to name: String) throws -> String {
        let path = folder + "/" + name
        try FuzzFile.write(input, to: path)
        return path
    }
}

/// An error that a target found, or the reason why it cannot run.
struct FuzzError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
