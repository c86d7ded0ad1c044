internal import FoundationEssentials
internal import Glibc
internal import LagDiagnosis

/// Finds files of machine code by build ID: named files, files in named folders, files that this machine's
/// loader would find, and separate debug files.
struct BinaryFinder {
    private struct Candidate {
        let path: String
        /// How much it can resolve: line tables are worth more than names.
        let worth: Int
    }

    /// The maximum number of files that are read in the folders.
    private static let maximumFiles = 1_000_000

    private let searchFolders: [String]
    /// Where `.build-id` folders are, in the order of the search.
    let debugRoots: [String]
    private var named: [String: Candidate] = [:]
    /// The index of the folders; nil until a lookup needs it.
    private var index: [String: Candidate]?
    /// A nil value: reported as missing.
    private var known: [String: String?] = [:]

    /// - Throws: ``StartFailure`` when a named file or folder is missing or of the wrong type.
    init(binaries: [String], searchFolders: [String], debugRoots: [String]) throws(StartFailure) {
        for folder in searchFolders + debugRoots where !Self.isFolder(folder) {
            let reason = Self.absence(of: folder) ?? "not a folder"
            throw StartFailure(status: ExitStatus.noInput, message: "\(folder): \(reason); allowed: a folder that can be read")
        }
        self.searchFolders = searchFolders
        self.debugRoots = debugRoots + [Symbolizer.debugRoot]
        for path in binaries {
            let whole = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            guard let summary = BinarySummary(path: whole) else {
                let reason = Self.absence(of: whole) ?? "not a program or library with a build-id"
                let message = "\(path): \(reason); allowed: a 64-bit ELF file with a build-id"
                throw StartFailure(status: ExitStatus.noInput, message: message)
            }
            Self.keep(whole, summary, in: &named)
            if !summary.hasLines, !hasDebugFile(summary.buildID) {
                Diagnostics.report("\(path): no line tables and no debug file found; its frames get only names")
            }
        }
        // Users first try the records of lagmond itself.
        if let own = realpath("/proc/self/exe", nil) {
            let path = String(cString: own)
            if let summary = BinarySummary(path: path), named[summary.buildID] == nil { Self.keep(path, summary, in: &named) }
            free(own)
        }
    }

    /// Why a path cannot be used at all; nil: it exists and can be read.
    private static func absence(of path: String) -> String? {
        access(path, R_OK) == 0 ? nil : Diagnostics.reason(errno)
    }

    /// The path of the file; nil if none was found, which is reported once.
    mutating func path(buildID: String, module: String?) -> String? {
        let id = buildID.lowercased()
        if let known = known[id] { return known }
        let path = find(id, module: module)
        known[id] = .some(path)
        // The kernel's image (vdso) is not in any file.
        if path == nil, module != "[vdso]", module != "linux-vdso.so.1" {
            let name = module.map { " (\($0))" } ?? ""
            Diagnostics.report("no file with build-id \(id)\(name); use --binary, --search or --debug-root")
        }
        return path
    }

    private mutating func find(_ id: String, module: String?) -> String? {
        if let named = named[id] { return named.path }
        if index == nil { index = Self.index(of: searchFolders) }
        if let found = index?[id] { return found.path }
        if let module, !module.contains("/") {
            let neighbours = Set(named.values.map { Self.folder($0.path) }).sorted()
            let paths = (neighbours + Self.systemFolders).map { "\($0)/\(module)" }
            if let path = paths.first(where: { BinarySummary(path: $0)?.buildID == id }) { return path }
        }
        return debugPaths(id).first { BinarySummary(path: $0)?.buildID == id }
    }

    private func debugPaths(_ id: String) -> [String] {
        debugRoots.map { "\($0)/.build-id/\(id.prefix(2))/\(id.dropFirst(2)).debug" }
    }

    private func hasDebugFile(_ id: String) -> Bool {
        debugPaths(id).contains { BinarySummary(path: $0).map { $0.buildID == id && $0.hasLines } ?? false }
    }

    private static func keep(_ path: String, _ summary: BinarySummary, in candidates: inout [String: Candidate]) {
        let candidate = Candidate(path: path, worth: (summary.hasLines ? 2 : 0) + (summary.hasSymbols ? 1 : 0))
        if candidates[summary.buildID].map({ $0.worth < candidate.worth }) ?? true {
            candidates[summary.buildID] = candidate
        }
    }

    /// All files below the folders; links to folders are not followed.
    private static func index(of folders: [String]) -> [String: Candidate] {
        var found: [String: Candidate] = [:]
        for folder in folders {
            var waiting = [URL(fileURLWithPath: folder).resolvingSymlinksInPath().path]
            var count = 0
            while let folder = waiting.popLast(), count < maximumFiles {
                for name in names(in: folder) {
                    guard count < maximumFiles else { break }
                    count += 1
                    let path = "\(folder)/\(name)"
                    var status = stat()
                    if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                        waiting.append(path)
                    } else if let summary = BinarySummary(path: path) {
                        keep(path, summary, in: &found)
                    }
                }
            }
        }
        return found
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// The folders of the libraries that this program itself has loaded: the C library, Swift.
    private static let systemFolders: [String] = {
        let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
        let paths = maps.split(separator: "\n").compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
        return Set(paths.filter { $0.contains(".so") }.map(folder)).sorted()
    }()

    private static func folder(_ path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
