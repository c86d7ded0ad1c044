internal import CLagLinux

/// Removes descriptors from a loop's epoll instance at once, on the thread that removes their source from the loop. Guarded by
/// the lock of the loop's registry.
///
/// The caller may close the descriptor next. By the close, the kernel forgets it only if no duplicate of it is left, for example
/// in a child. Otherwise the kernel would continue to report it, and only the closed number could remove it.
struct EpollRemovals: Sendable {
    /// The loop's instance; -1: none, or closed.
    var instance: Int32 = -1
    /// The eventfd that it watches for the loop itself.
    var wake: Int32 = -1
    /// What was removed since the loop's thread last checked. Another source may watch the same number.
    private var forgotten: Set<Int32> = []

    mutating func forget(_ descriptor: Int32) {
        guard instance >= 0, descriptor != instance, descriptor != wake else { return }
        cll_poller_unwatch(instance, descriptor)
        forgotten.insert(descriptor)
    }

    mutating func takeForgotten() -> Set<Int32> {
        defer { forgotten = [] }
        return forgotten
    }
}
