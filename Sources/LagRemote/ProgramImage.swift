internal import CLagLinux

/// Identifies the program run of a process by a value that only changes with exec: the start of its first stack
/// (cll_procfs_image).
///
/// Reading it takes one small file of `/proc`, without allocation. Any thread.
package struct ProgramImage: Sendable, Hashable {
    /// 0: the kernel does not show it.
    var firstStack: UInt64

    package init(firstStack: UInt64) { self.firstStack = firstStack }

    /// Nil: the process has exited.
    package init?(of process: Int32) {
        var found: UInt64 = 0
        guard cll_procfs_image(process, &found) == 0 else { return nil }
        firstStack = found
    }

    /// Whether the kernel shows it.
    package var isKnown: Bool { firstStack != 0 }

    /// Whether it may be the same program: also if the kernel does not show one of the two, as while a process exits, without its
    /// memory.
    func mayBe(_ other: ProgramImage?) -> Bool {
        guard let other, other.isKnown, isKnown else { return true }
        return other == self
    }

    /// Whether the process may still run that program.
    /// - Parameter image: becomes known as soon as the kernel shows it, which it does not within an exec.
    static func isSame(_ image: inout ProgramImage?, in process: Int32) -> Bool { isSame(&image, ProgramImage(of: process)) }

    /// The same for a program that was read.
    static func isSame(_ image: inout ProgramImage?, _ present: ProgramImage?) -> Bool {
        guard image?.mayBe(present) ?? true else { return false }
        if image?.isKnown != true { image = present }
        return true
    }
}
