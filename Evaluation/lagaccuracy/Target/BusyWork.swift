internal import LagMonitor
internal import Synchronization

/// 10,000 short callbacks a second, by a repeating timer of 100 µs. For each point that the timer missed because the thread got
/// no processor in time, work is submitted, which is a callback. Points that it missed because the loop was stalled are not
/// replaced.
final class BusyWork: Sendable {
    private static let interval: Duration = .microseconds(100)
    /// The callbacks of two milliseconds: a longer gap was a stall.
    private static let mostMadeUp: UInt64 = 20

    private let loop: ObservedRunLoop
    private let oracle: Oracle
    private let made = Atomic<Int>(0)
    private let lastNanoseconds = Mutex(MonotonicTime.now.nanoseconds)

    init(loop: ObservedRunLoop, oracle: Oracle) {
        self.loop = loop
        self.oracle = oracle
    }

    /// Continues as long as the loop runs.
    func start() {
        loop.add(RunLoopTimer(after: .zero, interval: Self.interval) { [self] _ in fire() }, to: .common)
    }

    /// The number of callbacks so far.
    var count: Int { made.load(ordering: .relaxed) }

    private func fire() {
        callback()
        for _ in 1..<max(1, due()) { loop.perform { [self] in callback() } }
    }

    private func callback() { oracle.callback { made.add(1, ordering: .relaxed) } }

    /// The number of callbacks that were due since the last call; a remainder is kept.
    private func due() -> UInt64 {
        let now = MonotonicTime.now.nanoseconds
        let interval = UInt64(Self.interval.wholeNanoseconds)
        return lastNanoseconds.withLock { last in
            let count = (now - last) / interval
            last = count > Self.mostMadeUp ? now : last + count * interval
            return count > Self.mostMadeUp ? 1 : count
        }
    }
}
