internal import Glibc

/// Finds `llvm-symbolizer`.
///
/// Reads the environment: at start, while no other thread changes it.
package enum SymbolizerProgram {
    private static let name = "llvm-symbolizer"
    /// The location of Debian's `llvm` packages.
    private static let versionedRoot = "/usr/lib"

    /// The program's absolute path: the one beside the first `swift` in PATH (it starts in half the time of Debian's),
    /// the first in PATH, the one in `/usr/bin`, or that of the newest `/usr/lib/llvm-*`. Nil if there is none.
    package static func find() -> String? { find(in: getenv("PATH").map { String(cString: $0) } ?? "") }

    static func find(in searchPath: String) -> String? {
        // Relative folders depend on the working directory.
        let folders = searchPath.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        let toolchains = folders.lazy.compactMap { realPath("\($0)/swift") }.map(folder)
        let versioned = llvmFolders().map { "\(versionedRoot)/\($0)/bin" }
        return (Array(toolchains.prefix(1)) + folders + ["/usr/bin"] + versioned).map { "\($0)/\(name)" }
            .first(where: isProgram)
    }

    /// Whether `path` is an executable file.
    package static func isProgram(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    private static func realPath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func folder(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// `llvm-19`, `llvm-14`, …: the newest first.
    private static func llvmFolders() -> [String] {
        guard let directory = opendir(versionedRoot) else { return [] }
        defer { closedir(directory) }
        var versions: [Int] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name.hasPrefix("llvm-"), let version = Int(name.dropFirst(5)) { versions.append(version) }
        }
        return versions.sorted(by: >).map { "llvm-\($0)" }
    }
}
