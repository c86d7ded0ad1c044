internal import CLagLinux
internal import Glibc
internal import LagModel

/// Finds the files with a module's symbols: its own, and the debug file of the same build-id. Uses no file that does not have the
/// requested build-id.
package struct SymbolFiles: Sendable {
    package struct Module: Hashable, Sendable {
        package let path: String
        /// Empty if it is not known: then the path alone is trusted, unless the kernel marks it as deleted.
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
        /// The module's file exists, but no file has its lines.
        case withoutLines
        /// The module's file is not available, or is another one.
        case missing
    }

    /// Where debug files are (the layout of GDB's manual, "Separate Debug Files"), in the order of the search.
    let debugRoots: [String]
    /// The process of the modules.
    private let process: Int32
    /// The root of that process's paths; empty: the same as for this process.
    private let root: String

    /// - Parameters:
    ///   - process: the process of the modules. It may see other files than this one, in a container.
    package init(debugRoots: [String] = [Symbolizer.debugRoot], process: Int32 = getpid()) {
        self.debugRoots = debugRoots
        self.process = process
        root = Self.seesOtherFiles(process) ? "/proc/\(process)/root" : ""
    }

    private static func seesOtherFiles(_ process: Int32) -> Bool {
        guard process != getpid(), let own = ProcFile.namespace(.mount, of: getpid()),
            let other = ProcFile.namespace(.mount, of: process)
        else { return false }
        return own != other
    }

    /// The module's own file.
    func open(_ module: Module) -> ELFFile? {
        for places in [nearPlaces, farPlaces] {
            for place in places(module) {
                if let file = open(module, at: place) { return file }
            }
        }
        return nil
    }

    /// The file that is at the module's path now.
    func identity(of module: Module) -> FileIdentity? {
        nearPlaces(of: module).first.flatMap(FileIdentity.init(path:))
    }

    /// The range of the unwind entries in the module, as ELF virtual addresses.
    package func unwindEntries(of module: Module) -> Range<UInt64>? {
        guard let section = open(module)?.sections(named: [".eh_frame"]).first, section.address > 0 else { return nil }
        let (end, overflow) = section.address.addingReportingOverflow(section.size)
        return overflow ? nil : section.address..<end
    }

    private func open(_ module: Module, at place: String) -> ELFFile? {
        guard let source = Self.source(place), let file = ELFFile(source) else { return nil }
        guard module.buildID.isEmpty || file.buildID == module.buildID else { return nil }
        return file
    }

    /// The separate debug file of a module whose own file exists.
    func openDebugFile(of file: borrowing ELFFile, _ module: Module) -> ELFFile? {
        guard let place = nearPlaces(of: module).first else { return nil }
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

    /// The file with the lines of `module`.
    package func lineFile(of module: Module) -> LineSearch {
        for places in [nearPlaces, farPlaces] {
            for place in places(module) {
                if let file = open(module, at: place) { return lineFile(file, at: place) }
            }
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

    /// By the build-id, then by the name that the module's own file contains: beside it and below the roots.
    private func debugPaths(of file: borrowing ELFFile, at place: String) -> [String] {
        guard let id = file.buildID, id.utf8.count > 2 else { return [] }
        // Packages with debug files are installed beside the program, or beside its observer.
        let roots = root.isEmpty ? debugRoots : debugRoots.map { root + $0 } + debugRoots
        let byID = roots.map { "\($0)/.build-id/\(id.prefix(2))/\(id.dropFirst(2)).debug" }
        guard let name = file.debugFileName, let end = place.lastIndex(of: "/") else { return byID }
        let folder = place[..<end]
        return byID + ["\(folder)/\(name)", "\(folder)/.debug/\(name)"]
            + roots.map { "\($0)\(folder.trimmingPrefix(root))/\(name)" }
    }

    /// The usual places of the module's file: its path; for a deleted program (a service is in that state after an upgrade) what
    /// the kernel keeps as long as it is mapped. By process id, so that a child finds the same one.
    private func nearPlaces(of module: Module) -> [String] {
        guard module.path.hasPrefix("/") else { return [module.path] }
        guard module.path.hasSuffix(Self.deleted) else { return [root + module.path] }
        return module.buildID.isEmpty ? [] : [program]
    }

    /// Other places where it may be read, by its build-id only. A process in a container that has changed its root (chroot) does
    /// not have the kernel's paths below that root; a parent may, or this process. With the permission (CAP_CHECKPOINT_RESTORE)
    /// also the mapping's file, deleted or not.
    private func farPlaces(of module: Module) -> [String] {
        guard module.path.hasPrefix("/") else { return [] }
        var places: [String] = []
        if !module.buildID.isEmpty, !module.path.hasSuffix(Self.deleted) {
            places = ProcessContext.executablePath(of: "\(process)") == module.path ? [program] : []
            if !root.isEmpty { places += parentsWithSameFiles().map { "/proc/\($0)/root\(module.path)" } + [module.path] }
        }
        var (low, high): (UInt64, UInt64) = (0, 0)
        guard cll_procfs_mapping_of(process, module.path, &low, &high) == 0, high > low else { return places }
        return places + ["/proc/\(process)/map_files/\(String(low, radix: 16))-\(String(high, radix: 16))"]
    }

    private var program: String { "/proc/\(process)/exe" }

    /// The process's parents, nearest first, if they are in its mount namespace.
    private func parentsWithSameFiles() -> [Int32] {
        var parents: [Int32] = []
        var next = process
        guard let mounts = ProcFile.namespace(.mount, of: process) else { return [] }
        while parents.count < Self.maximumParents, let parent = ProcFile.parent(of: next),
            ProcFile.namespace(.mount, of: parent) == mounts
        {
            parents.append(parent)
            next = parent
        }
        return parents
    }

    private static let maximumParents = 16

    /// The kernel's mark after a path that no longer exists.
    private static let deleted = " (deleted)"

    private static func source(_ path: String) -> ByteSource? {
        if path == "[vdso]" {
            guard let image = VDSOImage.bytes else { return nil }
            return ByteSource(memory: image)
        }
        // A relative path cannot be resolved here, and a deleted file is not at its path.
        guard path.hasPrefix("/"), !path.hasSuffix(deleted) else { return nil }
        return ByteSource(path: path)
    }
}
