internal import CoreFoundation
internal import LagActivity
internal import LagRunLoop

/// Timers that do not fire during a benchmark, in random order.
enum ScatteredTimers {
    private static let hour = 3600.0
    private static let stepMilliseconds = 1
    /// Coprime to every used count, so that all places are visited, in a scattered order.
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
