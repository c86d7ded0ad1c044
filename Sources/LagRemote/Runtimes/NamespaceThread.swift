internal import CLagLinux
internal import LagModel

/// A thread's ID in its process's own PID namespace.
enum NamespaceThread {
    private static let longest = 8192
    /// The maximum of searched threads of a process in another namespace: 3 ms.
    private static let maximumThreads = 256

    /// The innermost of `NSpid` in `/proc/PID/task/TID/status` (proc(5)); the ID itself if the kernel does not show it. Takes
    /// some 10 µs.
    static func innerTid(of tid: Int32, process: Int32) -> Int32 {
        guard let text = ProcFile.text(at: "/proc/\(process)/task/\(tid)/status", limit: longest),
            let start = text.firstRange(of: "\nNSpid:")
        else { return tid }
        let line = text[start.upperBound...].prefix { $0 != "\n" }
        return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).last.flatMap { Int32($0) } ?? tid
    }

    /// Whether the process has one of the threads with these IDs in its own namespace.
    static func isLive(anyOf inner: [Int32], process: Int32) -> Bool {
        // Usually there is only one namespace.
        if innerTid(of: process, process: process) == process {
            return inner.contains { cll_thread_is_live(process, $0) != 0 }
        }
        return ProcFile.numbers(in: "/proc/\(process)/task", limit: maximumThreads)
            .contains { inner.contains(innerTid(of: $0, process: process)) }
    }

    /// The thread with that ID in its process's own namespace; nil: none.
    static func tid(ofInner inner: Int32, process: Int32) -> Int32? {
        guard inner > 0 else { return nil }
        // Usually there is only one namespace.
        if innerTid(of: process, process: process) == process { return cll_thread_is_live(process, inner) != 0 ? inner : nil }
        return ProcFile.numbers(in: "/proc/\(process)/task", limit: maximumThreads)
            .first { innerTid(of: $0, process: process) == inner }
    }
}
