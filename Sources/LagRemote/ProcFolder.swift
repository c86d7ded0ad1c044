internal import Glibc

/// `/proc` as this process finds it.
package enum ProcFolder {
    /// Why processes cannot be found in it; nil: they have the numbers there that system calls give them. A µs; any thread.
    package static var fault: String? {
        let link = "/proc/self"
        var text = [CChar](repeating: 0, count: 16)
        if readlink(link, &text, text.count - 1) > 0 {
            return atoi(text) == getpid() ? nil : otherNamespace
        }
        var status = stat()
        // Without a target for who is not in its namespace.
        return lstat(link, &status) == 0 ? otherNamespace : "/proc is not there"
    }

    private static let otherNamespace = "/proc is of another pid namespace (unshare --mount-proc mounts its own)"
}
