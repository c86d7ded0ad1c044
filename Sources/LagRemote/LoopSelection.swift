internal import Glibc
internal import LagMonitor

/// Selects the loops of other processes to watch, with shell patterns (fnmatch(3)) for the whole names of their processes and
/// threads.
package struct LoopSelection: Sendable, Equatable {
    /// Patterns for a process's name as in its records; empty: every process.
    package let processes: [String]
    /// Patterns for a thread's name: `main` for the main thread, `comm` for others; empty: every thread.
    package let threads: [String]

    package init(processes: [String] = [], threads: [String] = []) {
        self.processes = processes
        self.threads = threads
    }

    /// Whether everything is selected.
    package var includesAll: Bool { processes.isEmpty && threads.isEmpty }

    /// Reads two small files. An exited process is included: the code that begins to watch it finds that out.
    package func includes(process: Int32) -> Bool {
        guard !processes.isEmpty, let name = ProcessContext.processName(of: process) else { return true }
        return includes(processName: name)
    }

    package func includes(processName: String) -> Bool { processes.isEmpty || Self.matches(processName, processes) }

    /// Reads a small file. An exited thread is included.
    func includes(thread: Int32, of process: Int32) -> Bool {
        guard !threads.isEmpty, let name = ThreadName.selectable(thread, of: process) else { return true }
        return Self.matches(name, threads)
    }

    private static func matches(_ name: String, _ patterns: [String]) -> Bool {
        patterns.contains { fnmatch($0, name, 0) == 0 }
    }

    /// For messages: `process nginx, redis*; thread main`.
    package var shown: String {
        [("process", processes), ("thread", threads)].filter { !$0.1.isEmpty }
            .map { "\($0.0) \($0.1.joined(separator: ", "))" }
            .joined(separator: "; ")
    }
}

/// A loop that is not watched because it is not selected.
package struct UnselectedLoop: Sendable {
    package let process: Int32
    package let processName: String
    /// The name of its thread.
    package let name: String
    /// Its index in the table, while that belongs to this loop.
    let claim: UInt64
    /// Whether it may not be a loop.
    var isProvisional: Bool
}
