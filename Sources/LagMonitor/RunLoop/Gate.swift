internal import CLagLinux

/// Closed until it is opened once; any number of threads may wait. While no thread waits it costs one atomic operation.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this object and is
// accessed only with atomic operations (cll_wake.h).
final class Gate: @unchecked Sendable {
    private let word: UnsafeMutablePointer<UInt32>

    init() {
        word = .allocate(capacity: 1)
        word.initialize(to: 0)
    }

    deinit { word.deallocate() }

    var isOpen: Bool { cll_gate_is_open(word) != 0 }

    func open() { cll_gate_open(word) }

    func wait() { cll_gate_wait(word) }
}
