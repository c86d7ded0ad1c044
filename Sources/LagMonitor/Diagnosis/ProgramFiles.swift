internal import Glibc
internal import LagModel

/// The program that a process runs, for ``InAppRules``: its file, and the origin of its modules.
package struct ProgramFiles: Sendable, Equatable {
    /// The executable's path, as in the process's memory map; nil if it cannot be read.
    package var executable: String?
    /// As far as its debug information shows it.
    package var modules: SourceModules
    /// The name with which it was started, if that is a link to the executable: on Debian `redis-server` is one to
    /// `redis-check-rdb`, `python3` one to `python3.11`. Nil: the file's own name.
    package var linkName: String?

    /// Where a link is searched, in addition to the executable's own folder.
    private static let linkFolders = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]

    package init(executable: String?, modules: SourceModules = SourceModules(), linkName: String? = nil) {
        self.executable = executable
        self.modules = modules
        self.linkName = linkName
    }

    /// A module's name in a record: its file; for the executable, the name with which it was started.
    package func name(ofModule path: String) -> String {
        if let linkName, path == executable { return linkName }
        return ModuleName.base(path)
    }

    /// Reads it for a process; the modules only if the executable has changed. One thread; it searches up to 256 MB of line
    /// tables, some 10 ms for 30 MB; 2 µs if nothing changed.
    package static func read(of process: Int32, after last: ProgramFiles?) -> ProgramFiles {
        // A process that has ended has no executable any more; its last records belong to the same one.
        guard let path = ProcessContext.executablePath(of: "\(process)") else { return last ?? ProgramFiles(executable: nil) }
        if let last, last.executable == path { return last }
        // By process id: the file that runs, even if its path belongs to another process's file system or the file was replaced.
        return ProgramFiles(
            executable: path,
            modules: SourceModules(inFile: "/proc/\(process)/exe"),
            linkName: linkName(of: process, executable: path)
        )
    }

    /// A process can choose any name: it counts only if a file of that name is the executable itself.
    private static func linkName(of process: Int32, executable: String) -> String? {
        guard let name = ProcessContext.processName(of: process), !name.isEmpty, !name.contains("/"),
            let slash = executable.lastIndex(of: "/"), executable[executable.index(after: slash)...] != name,
            let program = FileIdentity(path: "/proc/\(process)/exe")
        else { return nil }
        // As the process sees them; it may be in a container.
        let folders = [String(executable[..<slash])] + linkFolders
        return folders.contains { FileIdentity(path: "/proc/\(process)/root\($0)/\(name)") == program } ? name : nil
    }
}
