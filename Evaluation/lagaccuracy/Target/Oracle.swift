internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// The target's own clock: reads `CLOCK_MONOTONIC` at every activity of the loop and around every submitted callback, and so
/// knows every delay of the loop, whatever its cause. It never reads the monitor's beacon.
///
/// - For an injected stall, the callout itself reads the clock first and last.
/// - Between two readings the loop works, unless it sleeps, which is from the last observer of `beforeWaiting` to the
///   first observer of `afterWaiting`. If any other time between two readings is ``longGap`` or more, the kernel delayed the
///   loop; this is also a true stall.
/// - A time of ``longAwakePeriod`` or more without sleep is a true stall for a rule that finds starvation.
///
/// It cannot see a delay between the last observer of `beforeWaiting` and the sleep, or between the wake and the first observer.
/// Both are a few hundred nanoseconds of the loop's code.
///
/// Only for the loop's thread, except ``harvest(into:)``; an uncontended lock costs about 20 ns.
final class Oracle: Sendable {
    private struct State {
        /// False before the first reading, when the loop has not run.
        var hasBegun = false
        var last: UInt64 = 0
        var isResting = false
        /// The stall in progress, and whether it consists of many callouts.
        var open: TargetReport.Injected?
        var isInside = false
        /// An injected stall whose reading after the callout is missing.
        var needsAfterReading = false
        var sleepBegin: UInt64 = 0
        var awakeSince: UInt64 = 0
        var certainlyAwakeSince: UInt64 = 0
        var longestCertainlyAwake: UInt64 = 0
        var inLongCallouts: UInt64 = 0
        var injectedStarvation = false
        var report = TargetReport()
    }

    /// 10 ms below the threshold of 150 ms.
    static let longGap: UInt64 = 140_000_000
    /// 10 ms below the threshold of a second.
    static let longAwakePeriod: UInt64 = 990_000_000
    /// In a shorter time between the observers the loop may not have slept.
    private static let certainSleepNanoseconds: UInt64 = 20_000

    private let state = Mutex(State())

    /// Adds the observers to the loop: one before all others, one after them.
    func attach(to loop: ObservedRunLoop) {
        loop.add(RunLoopObserver(order: .min) { [self] _, activity in first(activity) }, to: .common)
        loop.add(RunLoopObserver(order: .max) { [self] _, activity in last(activity) }, to: .common)
    }

    private func first(_ activity: LoopActivity) {
        state.withLock { state in
            let now = MonotonicTime.now.nanoseconds
            if activity == .afterWaiting, state.hasBegun { Self.endSleep(&state, now) }
            Self.read(&state, now)
        }
    }

    private func last(_ activity: LoopActivity) {
        state.withLock { state in
            let now = MonotonicTime.now.nanoseconds
            Self.read(&state, now)
            guard activity == .beforeWaiting else { return }
            state.isResting = true
            state.sleepBegin = now
            state.longestCertainlyAwake = max(state.longestCertainlyAwake, now - state.certainlyAwakeSince)
        }
    }

    /// A callback of the busy condition, or a part of a starvation; the clock is read before and after it.
    func callback(_ body: () -> Void) {
        state.withLock { Self.read(&$0, MonotonicTime.now.nanoseconds) }
        body()
        state.withLock { Self.read(&$0, MonotonicTime.now.nanoseconds) }
    }

    /// A stall begins; called first in its callout.
    func begin(_ stall: PlannedStall) {
        state.withLock { state in
            let before = state.last
            let now = MonotonicTime.now.nanoseconds
            Self.read(&state, now)
            state.open = .init(kind: stall.kind.rawValue, place: stall.place, before: before, begin: now, end: now, after: now)
            state.isInside = stall.kind != .starve
            if stall.kind == .starve { state.injectedStarvation = true }
        }
    }

    /// A stall ends; called last in its (last) callout.
    func end() {
        state.withLock { state in
            guard var open = state.open else { return }
            let now = MonotonicTime.now.nanoseconds
            open.end = now
            open.after = now
            if state.isInside, now - open.begin >= Self.longGap { state.inLongCallouts += now - open.begin }
            state.open = nil
            if !state.isInside { Self.read(&state, now) }
            state.isInside = false
            state.last = now
            state.report.injected.append(open)
            state.needsAfterReading = true
        }
    }

    /// The number of injected stalls that have ended.
    var injectedCount: Int { state.withLock { $0.report.injected.count } }

    /// Adds the observations. Call it when the loop has ended; later time does not count.
    func harvest(into report: inout TargetReport) {
        state.withLock { state in
            Self.endAwakePeriod(&state, state.last)
            report.injected = state.report.injected
            report.gaps = state.report.gaps
            report.awakePeriods = state.report.awakePeriods
        }
    }

    private static func read(_ state: inout State, _ now: UInt64) {
        if !state.hasBegun {
            state.hasBegun = true
            (state.last, state.awakeSince, state.certainlyAwakeSince) = (now, now, now)
        }
        if state.needsAfterReading {
            state.needsAfterReading = false
            state.report.injected[state.report.injected.count - 1].after = now
        }
        if !state.isResting, !state.isInside, now - state.last >= longGap {
            state.report.gaps.append(.init(begin: state.last, end: now))
            state.inLongCallouts += now - state.last
        }
        state.last = now
    }

    private static func endSleep(_ state: inout State, _ now: UInt64) {
        state.isResting = false
        // Time asleep is not a gap.
        let slept = now - state.sleepBegin
        state.last = now
        if slept >= certainSleepNanoseconds {
            endAwakePeriod(&state, state.sleepBegin)
            state.awakeSince = now
            state.longestCertainlyAwake = 0
            state.inLongCallouts = 0
            state.injectedStarvation = false
        }
        state.certainlyAwakeSince = now
    }

    private static func endAwakePeriod(_ state: inout State, _ end: UInt64) {
        guard end > state.awakeSince, end - state.awakeSince >= longAwakePeriod, !state.injectedStarvation else { return }
        state.report.awakePeriods.append(
            .init(
                begin: state.awakeSince,
                end: end,
                certain: max(state.longestCertainlyAwake, end > state.certainlyAwakeSince ? end - state.certainlyAwakeSince : 0),
                inLongCallouts: state.inLongCallouts
            )
        )
    }
}
