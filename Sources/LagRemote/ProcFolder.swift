internal import Glibc

/// `/proc` as this process sees it.
package enum ProcFolder {
    /// Why processes cannot be found in it; nil: it has the same process IDs as system calls. Takes a µs; any thread.
    package static var fault: String? {
        let link = "/proc/self"
        var text = [CChar](repeating: 0, count: 16)
        if readlink(link, &text, text.count - 1) > 0 {
            return atoi(text) == getpid() ? nil : otherNamespace
        }
        var status = stat()
        // The link has no target for a process outside its namespace.
        return lstat(link, &status) == 0 ? otherNamespace : "/proc is not there"
    }

    private static let otherNamespace = "/proc is of another pid namespace (unshare --mount-proc mounts its own)"
}
