internal import CoreFoundation
internal import Foundation
internal import LagRunLoop

/// Delayed work that is due immediately: milliseconds from the first submission to the end of the last piece, compared with
/// Foundation's `Timer`.
struct PerformAfter: PairedBenchmark {
    let count: Int
    var name: String { "perform_after_\(count)" }
    let unit = "ms"
    let peer = "foundation_timer"
    var rounds: Int { Paired.rounds(of: count) }

    func ours() -> Double {
        let loop = ObservedRunLoop.current
        let done = Tally()
        return Stopwatch.milliseconds {
            for _ in 0..<count { loop.perform(after: .zero) { done.add() } }
            while done.value < count { _ = loop.run(in: .default, for: .zero, returnAfterSourceHandled: false) }
        }
    }

    func theirs() -> Double {
        let done = Tally()
        return Stopwatch.milliseconds {
            for _ in 0..<count {
                RunLoop.current.add(Timer(timeInterval: 0, repeats: false) { _ in done.add() }, forMode: .default)
            }
            while done.value < count { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false) }
        }
    }
}
