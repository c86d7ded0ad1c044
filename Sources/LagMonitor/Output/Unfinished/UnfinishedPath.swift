internal import Glibc

/// Where stalls in progress are kept: the possible names, of which a process uses one.
///
/// Several processes may write the same log, so one name is not enough.
package struct UnfinishedPath: Sendable, Equatable {
    package let path: String

    /// How many processes can keep stalls under one path at once; further processes keep none.
    static let maximumFiles = 16

    package init(_ path: String) { self.path = path }

    /// A hidden file beside a log, so that a collector of `stalls.jsonl*` does not take it for a log.
    package init(besideLog path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().map { $0 + "/" }.joined()
        self.path = folder + "." + (parts.last ?? "") + ".unfinished"
    }

    package var folder: String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
    }

    /// Why nothing can be kept here, as far as this can be known without creating a file; nil: it is possible.
    /// - Parameter outputs: the names of the sinks; for files these are their paths.
    package func obstacle(besides outputs: [String]) -> String? {
        guard access(folder, W_OK) == 0 else { return String(cString: strerror(errno)) }
        var (own, other) = (stat(), stat())
        let isThere = stat(path, &own) == 0
        if isThere, own.st_mode & S_IFMT == S_IFDIR { return "it is a folder" }
        let isOutput = outputs.contains { output in
            output == path || isThere && stat(output, &other) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino
        }
        return isOutput ? "it is the file of the output" : nil
    }

    /// In the order in which they are tried.
    package var candidates: [String] { [path] + (1..<Self.maximumFiles).map { "\(path).\($0)" } }
}
