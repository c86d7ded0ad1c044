import Dispatch
internal import Foundation
import LagMonitor
import Synchronization

/// The function and the length of the last real stall.
enum Place {
    private static let lastThread = Atomic<Int32>(0)
    private static let lastNanoseconds = Atomic<UInt64>(0)
    private static let lastPause = Atomic<UInt64>(0)

    static var thread: Int32 { lastThread.load(ordering: .sequentiallyConsistent) }
    static var nanoseconds: UInt64 { lastNanoseconds.load(ordering: .sequentiallyConsistent) }

    /// Whether a capture by signal certainly got its answer, as from a sleeping thread: see ``ProcessorTime``.
    static var alwaysAnswersInTime: Bool { lastPause.load(ordering: .sequentiallyConsistent) < 25_000_000 }

    /// - Parameter longestPause: the longest time that a computing thread was off the processor.
    static func note(since start: MonotonicTime, longestPause: UInt64 = 0) {
        lastPause.store(longestPause, ordering: .sequentiallyConsistent)
        lastThread.store(ThreadIdentity.current.tid, ordering: .sequentiallyConsistent)
        lastNanoseconds.store(MonotonicTime.now.nanoseconds - start.nanoseconds, ordering: .sequentiallyConsistent)
    }
}

@inline(never) func blockTheMainQueue(_ search: StallSearch) {
    let start = MonotonicTime.now
    repeat { usleep(400_000) } while !search.isOver
    Place.note(since: start)
}

@inline(never) @MainActor func blockTheMainActor(_ search: StallSearch) {
    let start = MonotonicTime.now
    repeat { usleep(400_000) } while !search.isOver
    Place.note(since: start)
}

@inline(never) @MainActor func computeOnTheMainActor(_ search: StallSearch) {
    let start = MonotonicTime.now
    // In this function itself, so that no other code can be the culprit.
    var (last, longest) = (start.nanoseconds, UInt64(0))
    repeat {
        let begin = last
        while last < begin + 400_000_000 {
            let now = MonotonicTime.now.nanoseconds
            longest = max(longest, now - last)
            last = now
        }
    } while !search.isOver
    Place.note(since: start, longestPause: longest)
}

/// Not in the job with which the task began.
/// - Parameter waiting: how many jobs of the main actor wait meanwhile.
@MainActor func suspendAndBlock(_ search: StallSearch, waiting: Int) async {
    try? await Task.sleep(for: .milliseconds(50))
    for _ in 0..<waiting { Task { @MainActor in } }
    blockTheMainActor(search)
}

@MainActor func suspendAndCompute(_ search: StallSearch) async {
    await Task.yield()
    try? await Task.sleep(for: .milliseconds(50))
    computeOnTheMainActor(search)
}
