internal import LagModel

/// The program that a process runs, as ``InAppRules`` needs it: its file, and the modules in it that are dependencies.
package struct ProgramFiles: Sendable, Hashable {
    /// The executable's path, as the process's memory map shows it; nil where it cannot be read.
    package var executable: String?
    /// Names of modules that were built from a checked-out package.
    package var dependencies: Set<String>

    /// `CLU_MODULE_PATH_MAX` with its NUL.
    private static let maximumPathBytes = 239

    package init(executable: String?, dependencies: Set<String> = []) {
        self.executable = executable
        self.dependencies = dependencies
    }

    /// Reads it of a process; the dependencies only where the executable is another one than before. One thread; it searches up to
    /// 256 MB of line tables, some 10 ms for 30 MB; 2 µs when nothing changed.
    package static func read(of process: Int32, after last: ProgramFiles?) -> ProgramFiles {
        // A process that has ended has no executable any more; its last records are of the same one.
        guard let whole = ProcessContext.executablePath(of: "\(process)") else { return last ?? ProgramFiles(executable: nil) }
        // As much of its end as the module map keeps of a path.
        let path = String(decoding: whole.utf8.suffix(maximumPathBytes), as: UTF8.self)
        if let last, last.executable == path { return last }
        // By number: the file that runs, also where its path is another process's or it was replaced.
        return ProgramFiles(executable: path, dependencies: DependencyModules.names(inFile: "/proc/\(process)/exe"))
    }
}
