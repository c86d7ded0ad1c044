internal import LagMonitor
internal import Synchronization

/// 10,000 short callbacks a second: a repeating timer of 100 µs. Points that it missed because the processor came late are made
/// up by submitted work, a callback each; those that it missed because the loop was stalled are not.
final class BusyWork: Sendable {
    private static let interval: Duration = .microseconds(100)
    /// Two milliseconds' worth: a longer absence was a stall.
    private static let mostMadeUp: UInt64 = 20

    private let loop: ObservedRunLoop
    private let oracle: Oracle
    private let made = Atomic<Int>(0)
    private let lastNanoseconds = Mutex(MonotonicTime.now.nanoseconds)

    init(loop: ObservedRunLoop, oracle: Oracle) {
        self.loop = loop
        self.oracle = oracle
    }

    /// Goes on as long as the loop runs.
    func start() {
        loop.add(RunLoopTimer(after: .zero, interval: Self.interval) { [self] _ in fire() }, to: .common)
    }

    /// How many callbacks there were.
    var count: Int { made.load(ordering: .relaxed) }

    private func fire() {
        callback()
        for _ in 1..<max(1, due()) { loop.perform { [self] in callback() } }
    }

    private func callback() { oracle.callback { made.add(1, ordering: .relaxed) } }

    /// How many callbacks the time since the last call was good for; a remainder is kept.
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
