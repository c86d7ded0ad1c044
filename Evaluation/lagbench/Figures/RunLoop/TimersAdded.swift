internal import CoreFoundation
internal import Foundation
internal import LagActivity
internal import LagRunLoop

/// Timers with scattered dates added to a loop that has none: milliseconds for all, against CFRunLoop.
struct TimersAdded: Benchmark {
    let count: Int
    var name: String { "timers_added_\(count)" }
    let unit = "ms"
    let targets = [Target(.ratio, .atLeast(1))]

    func run() throws -> [BenchLine] {
        try Paired.line(name, unit, peer: "cfrunloop", rounds: Paired.rounds(of: count), ours: { ours() }, theirs: { theirs() })
    }

    private func ours() -> Double {
        let loop = ObservedRunLoop.current
        let timers = ScatteredTimers.ours(count)
        let time = Stopwatch.milliseconds { for timer in timers { loop.add(timer, to: .default) } }
        for timer in timers { timer.invalidate() }
        return time
    }

    private func theirs() -> Double {
        let loop = CFRunLoopGetCurrent()
        let timers = ScatteredTimers.theirs(count)
        let time = Stopwatch.milliseconds { for timer in timers { CFRunLoopAddTimer(loop, timer, kCFRunLoopDefaultMode) } }
        // Left to the end of the thread: one by one it takes CFRunLoop a quarter of a minute.
        return time
    }
}

/// One timer of many invalidated, and another one made and added: microseconds for the pair, against CFRunLoop.
struct TimerReplaced: Benchmark {
    let count: Int
    var name: String { "timer_replaced_\(count)" }
    let unit = "us"
    let targets = [Target(.ratio, .atLeast(1))]

    private static let changes = 1_000

    func run() throws -> [BenchLine] {
        try Paired.line(name, unit, peer: "cfrunloop", rounds: Paired.rounds(of: count), ours: { ours() }, theirs: { theirs() })
    }

    private func ours() -> Double {
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

    private func theirs() -> Double {
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

/// Timers for a time that does not come in a bench, in no order.
private enum ScatteredTimers {
    private static let hour = 3600.0
    private static let stepMilliseconds = 1
    /// Prime to every count in use: all places are visited, in no order.
    private static let stride = 7919

    static func place(_ index: Int, of count: Int) -> Int { index * stride % count }

    static func ours(_ count: Int) -> [RunLoopTimer] {
        let start = MonotonicTime.now + .seconds(hour)
        return (0..<count).map { RunLoopTimer(fireDate: start + .milliseconds(place($0, of: count) * stepMilliseconds)) { _ in } }
    }

    static func theirs(_ count: Int) -> [CFRunLoopTimer] {
        let start = CFAbsoluteTimeGetCurrent() + hour
        return (0..<count).map {
            let date = start + Double(place($0, of: count) * stepMilliseconds) / 1000
            return CFRunLoopTimerCreateWithHandler(nil, date, 0, 0, 0) { _ in }
        }
    }
}
