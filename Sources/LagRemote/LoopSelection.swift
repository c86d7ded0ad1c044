internal import Glibc
internal import LagMonitor

/// Which loops of other processes are watched: by shell patterns (fnmatch(3)) for the whole names of their processes and threads.
package struct LoopSelection: Sendable, Equatable {
    /// For a process's name as its records have it; empty: every process.
    package let processes: [String]
    /// For a thread's name: `main` for the main thread, of others their `comm`; empty: every thread.
    package let threads: [String]

    package init(processes: [String] = [], threads: [String] = []) {
        self.processes = processes
        self.threads = threads
    }

    /// Whether nothing is left out.
    package var includesAll: Bool { processes.isEmpty && threads.isEmpty }

    /// Two small files. What has ended is included: whoever begins to watch it finds that out.
    package func includes(process: Int32) -> Bool {
        guard !processes.isEmpty, let name = ProcessContext.processName(of: process) else { return true }
        return includes(processName: name)
    }

    package func includes(processName: String) -> Bool { processes.isEmpty || Self.matches(processName, processes) }

    /// A small file. What has ended is included.
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
    /// Its thread's.
    package let name: String
    /// Its place in the table, as long as it is this loop's.
    let claim: UInt64
    /// It may not be a loop.
    var isProvisional: Bool
}
