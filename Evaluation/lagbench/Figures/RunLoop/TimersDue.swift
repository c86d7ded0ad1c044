internal import CoreFoundation
internal import LagActivity
internal import LagRunLoop

/// Many one-shot timers that are due in one turn: milliseconds for the turn, against CFRunLoop.
///
/// Both have their timers in the loop before the time is taken, all with a date that is over. Rounds of both by turns, each on a thread of
/// its own; the median.
struct TimersDue: Benchmark {
    let count: Int
    var name: String { "timers_due_\(count)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(
            name,
            unit,
            peer: "cfrunloop",
            rounds: Paired.rounds(of: count),
            ours: { try ours() },
            theirs: { try theirs() }
        )
    }

    private func ours() throws -> Double {
        let loop = ObservedRunLoop.current
        let fired = Tally()
        let date = MonotonicTime.now
        for _ in 0..<count { loop.add(RunLoopTimer(fireDate: date) { _ in fired.add() }, to: .default) }
        let time = Stopwatch.milliseconds { _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) }
        guard fired.value == count else { throw BenchmarkFailure("\(fired.value) timers of \(count) fired") }
        return time
    }

    private func theirs() throws -> Double {
        let fired = Tally()
        let date = CFAbsoluteTimeGetCurrent()
        for _ in 0..<count {
            let timer = CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in fired.add() }
            CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
        }
        return Stopwatch.milliseconds { while fired.value < count { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) } }
    }
}
