internal import Glibc
internal import Synchronization

/// A gate that opens once; threads wait until it is open.
final class Gate: Sendable {
    private let opened = Atomic(false)

    func open() { opened.store(true, ordering: .releasing) }

    /// Polls, because a thread needs only microseconds to start.
    func wait() {
        while !opened.load(ordering: .acquiring) { usleep(50) }
    }
}
