/// Where stalls in progress are kept: the names a process may take, one of which it uses.
///
/// Several processes may write the same log, so one name is not enough.
package struct UnfinishedPath: Sendable, Equatable {
    /// The first name.
    package let path: String

    /// Processes that keep stalls under one name at once; any more of them keep none.
    static let maximumFiles = 16

    package init(_ path: String) { self.path = path }

    /// A hidden file beside a log: what collects `stalls.jsonl*` does not take it for one.
    package init(besideLog path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().map { $0 + "/" }.joined()
        self.path = folder + "." + (parts.last ?? "") + ".unfinished"
    }

    /// The folder of all of them.
    package var folder: String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
    }

    /// In the order in which they are tried.
    package var candidates: [String] { [path] + (1..<Self.maximumFiles).map { "\(path).\($0)" } }
}
