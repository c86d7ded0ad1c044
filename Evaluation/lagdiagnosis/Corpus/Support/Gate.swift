internal import Glibc
internal import Synchronization

/// Opens once; from then on waiting threads pass.
final class Gate: Sendable {
    private let opened = Atomic(false)

    func open() { opened.store(true, ordering: .releasing) }

    /// For the microseconds that a thread needs to start.
    func wait() {
        while !opened.load(ordering: .acquiring) { usleep(50) }
    }
}
