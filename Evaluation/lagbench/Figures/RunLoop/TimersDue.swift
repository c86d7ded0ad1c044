internal import CoreFoundation
internal import LagActivity
internal import LagRunLoop

/// Many one-shot timers that are due in one iteration: milliseconds for the iteration, compared with CFRunLoop.
///
/// In both loops, all timers are added before the measurement starts, with a date in the past.
struct TimersDue: PairedBenchmark {
    let count: Int
    var name: String { "timers_due_\(count)" }
    let unit = "ms"
    let peer = "cfrunloop"
    var rounds: Int { Paired.rounds(of: count) }

    func ours() throws -> Double {
        let loop = ObservedRunLoop.current
        let fired = Tally()
        let date = MonotonicTime.now
        for _ in 0..<count { loop.add(RunLoopTimer(fireDate: date) { _ in fired.add() }, to: .default) }
        let time = Stopwatch.milliseconds { _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) }
        guard fired.value == count else { throw BenchmarkFailure("\(fired.value) timers of \(count) fired") }
        return time
    }

    func theirs() throws -> Double {
        let fired = Tally()
        let date = CFAbsoluteTimeGetCurrent()
        for _ in 0..<count {
            let timer = CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in fired.add() }
            CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
        }
        return Stopwatch.milliseconds { while fired.value < count { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) } }
    }
}
