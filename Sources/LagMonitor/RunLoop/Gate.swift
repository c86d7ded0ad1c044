internal import CLibunwind

/// Closed until it is opened once; any number of threads may wait. No cost while nobody waits but one atomic operation.
// Sendable without a check: the only stored property is an immutable pointer to memory that lives as long as this object and
// is accessed with atomic operations alone (clu_wake.h).
final class Gate: @unchecked Sendable {
    private let word: UnsafeMutablePointer<UInt32>

    init() {
        word = .allocate(capacity: 1)
        word.initialize(to: 0)
    }

    deinit { word.deallocate() }

    var isOpen: Bool { clu_gate_is_open(word) != 0 }

    func open() { clu_gate_open(word) }

    func wait() { clu_gate_wait(word) }
}
