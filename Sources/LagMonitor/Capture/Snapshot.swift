package import CLagLinux
internal import Glibc

/// Memory for one snapshot, allocated in advance.
///
/// The copy of the stack has 128 KiB: enough for any stack that is not a deep recursion (whose outer frames are then read from
/// the thread's memory), and small enough to copy within some microseconds.
package final class Snapshot {
    static let stackCapacity = 128 * 1024

    package let raw: UnsafeMutablePointer<cll_snapshot>
    private let stack: UnsafeMutableRawPointer

    init?() {
        guard let stack = cll_memory_map(Self.stackCapacity) else { return nil }
        self.stack = stack
        raw = .allocate(capacity: 1)
        raw.initialize(to: cll_snapshot())
        raw.pointee.stack = stack.assumingMemoryBound(to: UInt8.self)
        raw.pointee.capacity = UInt64(Self.stackCapacity)
    }

    func holdsSameStack(as other: Snapshot) -> Bool {
        raw.pointee.stack_begin == other.raw.pointee.stack_begin
            && raw.pointee.stack_length == other.raw.pointee.stack_length
            && memcmp(stack, other.stack, Int(raw.pointee.stack_length)) == 0
    }

    deinit {
        // A leak once in a lifetime is better than a handler that writes into memory that has been reused.
        guard cll_signal_is_writing(raw) == 0 else { return }
        raw.deallocate()
        cll_memory_unmap(stack, Self.stackCapacity)
    }
}
