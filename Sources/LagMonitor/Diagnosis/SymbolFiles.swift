internal import CLagLinux
internal import Glibc

/// Finds the files that know about a module: its own, and the debug file of the same build-id. Believes nothing that does
/// not carry the build-id that was asked for.
package struct SymbolFiles: Sendable {
    package struct Module: Hashable, Sendable {
        package let path: String
        /// Empty when it is not known: then the path alone is believed, unless the kernel marks it as deleted.
        let buildID: String

        package init(_ query: SymbolQuery) {
            path = query.modulePath
            buildID = query.buildID.lowercased()
        }
    }

    /// A file with line tables.
    package struct LineFile: Sendable, Hashable {
        package let path: String
        package let identity: FileIdentity
    }

    package enum LineSearch: Sendable {
        case found(LineFile)
        /// The module's file is there, and nothing knows its lines.
        case withoutLines
        /// The module's file cannot be had, or is another one.
        case missing
    }

    /// Where debug files are (the layout of GDB's manual, "Separate Debug Files"), in the order of the search.
    let debugRoots: [String]
    /// Whose modules they are.
    private let process: Int32
    /// Where that process's paths begin; empty: they are this one's.
    private let root: String

    /// - Parameters:
    ///   - process: whose modules they are. It may see other files than this one: in a container.
    package init(debugRoots: [String] = [Symbolizer.debugRoot], process: Int32 = getpid()) {
        self.debugRoots = debugRoots
        self.process = process
        root = Self.seesOtherFiles(process) ? "/proc/\(process)/root" : ""
    }

    private static func seesOtherFiles(_ process: Int32) -> Bool {
        var (own, other) = (stat(), stat())
        guard process != getpid(), stat("/proc/self/ns/mnt", &own) == 0, stat("/proc/\(process)/ns/mnt", &other) == 0 else {
            return false
        }
        return own.st_ino != other.st_ino
    }

    /// The module's own file.
    func open(_ module: Module) -> ELFFile? {
        for place in places(of: module) {
            if let file = open(module, at: place) { return file }
        }
        return nil
    }

    private func open(_ module: Module, at place: String) -> ELFFile? {
        guard let source = Self.source(place), let file = ELFFile(source) else { return nil }
        guard module.buildID.isEmpty || file.buildID == module.buildID else { return nil }
        return file
    }

    /// The separate debug file of a module whose own file is there.
    func openDebugFile(of file: borrowing ELFFile, _ module: Module) -> ELFFile? {
        guard let place = places(of: module).first else { return nil }
        for path in debugPaths(of: file, at: place) {
            // One in a folder `.debug` may have the module's own name.
            if let source = ByteSource(path: path), source.identity != file.source.identity, let debug = ELFFile(source),
                debug.buildID == file.buildID
            {
                return debug
            }
        }
        return nil
    }

    /// The file to ask for the lines of `module`.
    package func lineFile(of module: Module) -> LineSearch {
        for place in places(of: module) {
            if let file = open(module, at: place) { return lineFile(file, at: place) }
        }
        return .missing
    }

    private func lineFile(_ file: borrowing ELFFile, at place: String) -> LineSearch {
        let names = file.sectionNames()
        if !names.isDisjoint(with: Self.lineSections), let identity = file.source.identity {
            return .found(LineFile(path: place, identity: identity))
        }
        for path in debugPaths(of: file, at: place) {
            guard let source = ByteSource(path: path), let debug = ELFFile(source), debug.buildID == file.buildID,
                !debug.sectionNames().isDisjoint(with: Self.lineSections), let identity = debug.source.identity
            else { continue }
            return .found(LineFile(path: path, identity: identity))
        }
        return .withoutLines
    }

    /// DWARF's line tables, plain and in the compressed form of older compilers.
    static let lineSections: Set<String> = [".debug_line", ".zdebug_line"]

    /// By the build-id, then by the name that the module's own file has for it: beside it and below the roots.
    private func debugPaths(of file: borrowing ELFFile, at place: String) -> [String] {
        guard let id = file.buildID, id.utf8.count > 2 else { return [] }
        // Packages with debug files are where the program is, or where its observer is.
        let roots = root.isEmpty ? debugRoots : debugRoots.map { root + $0 } + debugRoots
        let byID = roots.map { "\($0)/.build-id/\(id.prefix(2))/\(id.dropFirst(2)).debug" }
        guard let name = file.debugFileName, let end = place.lastIndex(of: "/") else { return byID }
        let folder = place[..<end]
        return byID + ["\(folder)/\(name)", "\(folder)/.debug/\(name)"]
            + roots.map { "\($0)\(folder.trimmingPrefix(root))/\(name)" }
    }

    /// Where the module's file may be read: its path, and for one that was deleted what the kernel keeps as long as it is mapped: the process's own program (a
    /// service is in that state after an upgrade), and, for who may see it (CAP_CHECKPOINT_RESTORE), each mapping's file. The build-id shows whether it is the same
    /// file. By number, so that a child finds the same ones.
    private func places(of module: Module) -> [String] {
        guard module.path.hasSuffix(Self.deleted) else {
            return [module.path.hasPrefix("/") ? root + module.path : module.path]
        }
        let program = module.buildID.isEmpty ? [] : ["/proc/\(process)/exe"]
        var (low, high): (UInt64, UInt64) = (0, 0)
        guard cll_procfs_mapping_of(process, module.path, &low, &high) == 0, high > low else { return program }
        return program + ["/proc/\(process)/map_files/\(String(low, radix: 16))-\(String(high, radix: 16))"]
    }

    /// The kernel's mark behind a path that is no more.
    private static let deleted = " (deleted)"

    private static func source(_ path: String) -> ByteSource? {
        if path == "[vdso]" {
            guard let image = VDSOImage.bytes else { return nil }
            return ByteSource(memory: image)
        }
        // A relative path means nothing here, and a deleted file is not at its path.
        guard path.hasPrefix("/"), !path.hasSuffix(deleted) else { return nil }
        return ByteSource(path: path)
    }
}
