internal import CLagLinux

/// Which program a process runs, by something that changes with exec alone: where its first stack begins (cll_procfs_image).
///
/// Reading it takes one small file of `/proc`, without allocation. Any thread.
package struct ProgramImage: Sendable, Hashable {
    /// 0: the kernel does not say.
    let firstStack: UInt64

    /// Nil: the process has ended.
    package init?(of process: Int32) {
        var found: UInt64 = 0
        guard cll_procfs_image(process, &found) == 0 else { return nil }
        firstStack = found
    }

    /// Whether the kernel says which.
    package var isKnown: Bool { firstStack != 0 }
}
