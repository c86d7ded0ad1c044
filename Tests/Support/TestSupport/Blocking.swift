import Dispatch
internal import Foundation
import LagMonitor
import Synchronization

/// Where and how long the last stall really was.
enum Place {
    private static let lastThread = Atomic<Int32>(0)
    private static let lastNanoseconds = Atomic<UInt64>(0)

    static var thread: Int32 { lastThread.load(ordering: .sequentiallyConsistent) }
    static var nanoseconds: UInt64 { lastNanoseconds.load(ordering: .sequentiallyConsistent) }

    static func note(since start: MonotonicTime) {
        lastThread.store(ThreadIdentity.current.tid, ordering: .sequentiallyConsistent)
        lastNanoseconds.store(MonotonicTime.now.nanoseconds - start.nanoseconds, ordering: .sequentiallyConsistent)
    }
}

@inline(never) func blockTheMainQueue() {
    let start = MonotonicTime.now
    usleep(400_000)
    Place.note(since: start)
}

@inline(never) @MainActor func blockTheMainActor() {
    let start = MonotonicTime.now
    usleep(400_000)
    Place.note(since: start)
}

@inline(never) @MainActor func computeOnTheMainActor() {
    let start = MonotonicTime.now
    // Here itself, so that nothing else can be to blame.
    while MonotonicTime.now < start + .milliseconds(400) {}
    Place.note(since: start)
}

/// Not in the job that the task began with.
@MainActor func suspendAndBlock() async {
    try? await Task.sleep(for: .milliseconds(50))
    blockTheMainActor()
}

@MainActor func suspendAndCompute() async {
    await Task.yield()
    try? await Task.sleep(for: .milliseconds(50))
    computeOnTheMainActor()
}
