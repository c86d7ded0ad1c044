internal import CLagBeacon
internal import Synchronization

/// A thread that does nothing but read the clock, and notes when it could not: each gap between two readings is time in
/// which the thread did not run.
final class GapRecorder: Sendable {
    /// A stretch of time, `CLOCK_MONOTONIC` nanoseconds.
    struct Window: Sendable {
        let begin: UInt64
        let end: UInt64
        var nanoseconds: UInt64 { end - begin }
    }

    // Unchecked: the memory is the thread's until it has ended, and only read afterwards.
    private final class Shared: @unchecked Sendable {
        let stopping = Atomic<Bool>(false)
        let gaps: UnsafeMutableBufferPointer<Window>
        var count = 0

        init() {
            gaps = .allocate(capacity: GapRecorder.capacity)
            // Touched now, so that no page fault of ours is taken for a gap of theirs.
            gaps.initialize(repeating: Window(begin: 0, end: 0))
        }

        deinit { gaps.deallocate() }
    }

    /// Two readings are some 30 ns apart; shorter gaps than this are not interruptions.
    static let smallestGapNanoseconds: UInt64 = 250
    private static let capacity = 1 << 19

    private let shared = Shared()
    let thread: BenchThread

    init() throws {
        let shared = shared
        thread = try BenchThread {
            var last = clb_now_ns()
            while !shared.stopping.load(ordering: .relaxed) {
                let now = clb_now_ns()
                if now - last >= Self.smallestGapNanoseconds, shared.count < Self.capacity {
                    shared.gaps[shared.count] = Window(begin: last, end: now)
                    shared.count += 1
                }
                last = now
            }
        }
    }

    /// Ends the thread; once.
    /// - Returns: its gaps in their order.
    func stop() -> [Window] {
        shared.stopping.store(true, ordering: .relaxed)
        thread.join()
        return Array(shared.gaps[..<shared.count])
    }
}
