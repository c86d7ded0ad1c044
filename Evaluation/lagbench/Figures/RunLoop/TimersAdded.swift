internal import CoreFoundation
internal import LagRunLoop

/// Timers with scattered dates are added to a loop without timers: milliseconds for all, compared with CFRunLoop.
struct TimersAdded: PairedBenchmark {
    let count: Int
    var name: String { "timers_added_\(count)" }
    let unit = "ms"
    let peer = "cfrunloop"
    var rounds: Int { Paired.rounds(of: count) }

    func ours() -> Double {
        let loop = ObservedRunLoop.current
        let timers = ScatteredTimers.ours(count)
        let time = Stopwatch.milliseconds { for timer in timers { loop.add(timer, to: .default) } }
        for timer in timers { timer.invalidate() }
        return time
    }

    func theirs() -> Double {
        let loop = CFRunLoopGetCurrent()
        let timers = ScatteredTimers.theirs(count)
        let time = Stopwatch.milliseconds { for timer in timers { CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode) } }
        // The timers are removed when the thread exits: removing them one by one takes a quarter of a minute with CFRunLoop.
        return time
    }
}
