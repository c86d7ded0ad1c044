internal import CLagBeacon
internal import Synchronization

/// A thread that only reads the clock, and records gaps: each gap between two readings is time in which the thread did not
/// run.
final class GapRecorder: Sendable {
    /// An interval, in nanoseconds of `CLOCK_MONOTONIC`.
    struct Window: Sendable {
        let begin: UInt64
        let end: UInt64
        var nanoseconds: UInt64 { end - begin }
    }

    // Unchecked: only the thread uses the memory until it has exited; afterwards it is only read.
    private final class Shared: @unchecked Sendable {
        let stopping = Atomic<Bool>(false)
        let gaps: UnsafeMutableBufferPointer<Window>
        var count = 0

        init() {
            gaps = .allocate(capacity: GapRecorder.capacity)
            // Accessed now, so that a page fault of this thread is not recorded as a gap.
            gaps.initialize(repeating: Window(begin: 0, end: 0))
        }

        deinit { gaps.deallocate() }
    }

    /// Two readings are about 30 ns apart; shorter gaps than this are not interruptions.
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

    /// Ends the thread; call it once.
    /// - Returns: its gaps, in order.
    func stop() -> [Window] {
        shared.stopping.store(true, ordering: .relaxed)
        thread.join()
        return Array(shared.gaps[..<shared.count])
    }
}
