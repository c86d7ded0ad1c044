internal import CLagLinux

/// Takes descriptors out of a loop's epoll instance at once, on the thread that takes their source out of the loop. Guarded by the lock of the
/// loop's registry.
///
/// Its caller may close the descriptor next. The kernel forgets it by that only where no duplicate of it is left, be it in a child; else it
/// would go on to report what nothing but the closed number could take out any more.
struct EpollRemovals: Sendable {
    /// The loop's instance; -1: it has none, or has closed it.
    var instance: Int32 = -1
    /// The eventfd that it watches for the loop itself.
    var wake: Int32 = -1
    /// What was taken out since the loop's thread looked last. Another source may watch the same number.
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
