internal import CLagBeacon

/// Times one piece of work.
enum Stopwatch {
    static func milliseconds(_ body: () -> Void) -> Double {
        let begin = clb_now_ns()
        body()
        return Double(clb_now_ns() - begin) / 1_000_000
    }
}
