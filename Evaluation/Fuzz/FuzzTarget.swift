/// A reader of foreign bytes. Any result is allowed; it must not trap, hang or grow without bound.
///
/// One thread, in a child process: what it does to the process is the finding.
protocol FuzzTarget: AnyObject {
    /// As on the command line and in the corpus.
    static var name: String { get }
    /// Whole inputs that the mutations start from; at least one.
    var seeds: [[UInt8]] { get throws }
    /// Pieces that are put into inputs.
    var tokens: [String] { get }

    init(_ surroundings: FuzzSurroundings) throws

    /// - Throws: where the reader did what it must not, and the process lives.
    func read(_ input: [UInt8]) throws

    /// Ends what it started.
    func finish()
}

extension FuzzTarget {
    var tokens: [String] { [] }
    func finish() {}
}

/// The environment of targets.
struct FuzzSurroundings {
    /// An empty folder of the target's own.
    let folder: String
    /// Beside this program; nil: it is not there.
    let lagmond: String?

    func write(_ input: [UInt8], to name: String) throws -> String {
        let path = folder + "/" + name
        try FuzzFile.write(input, to: path)
        return path
    }
}

/// An error that a target found, or why it cannot run.
struct FuzzError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
