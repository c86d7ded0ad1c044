internal import CoreFoundation
internal import LagRunLoop

/// One timer of many is invalidated, and another one is created and added: microseconds for the pair, compared with CFRunLoop.
struct TimerReplaced: PairedBenchmark {
    let count: Int
    var name: String { "timer_replaced_\(count)" }
    let unit = "us"
    let peer = "cfrunloop"
    var rounds: Int { Paired.rounds(of: count) }

    private static let changes = 1_000

    func ours() -> Double {
        let loop = ObservedRunLoop.current
        var timers = ScatteredTimers.ours(count)
        let others = ScatteredTimers.ours(Self.changes)
        for timer in timers { loop.add(timer, to: .default) }
        let time = Stopwatch.milliseconds {
            for index in 0..<Self.changes {
                let place = ScatteredTimers.place(index, of: count)
                timers[place].invalidate()
                timers[place] = others[index]
                loop.add(others[index], to: .default)
            }
        }
        for timer in timers { timer.invalidate() }
        return time * 1000 / Double(Self.changes)
    }

    func theirs() -> Double {
        let loop = CFRunLoopGetCurrent()
        var timers = ScatteredTimers.theirs(count)
        let others = ScatteredTimers.theirs(Self.changes)
        for timer in timers { CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode) }
        let time = Stopwatch.milliseconds {
            for index in 0..<Self.changes {
                let place = ScatteredTimers.place(index, of: count)
                CFRunLoopTimerInvalidate(timers[place])
                timers[place] = others[index]
                CFRunLoopAddTimer(loop, others[index], kCFRunLoopDefaultMode)
            }
        }
        return time * 1000 / Double(Self.changes)
    }
}
