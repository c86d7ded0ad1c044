internal import CLibunwind

/// Times one piece of work.
enum Stopwatch {
    static func milliseconds(_ body: () -> Void) -> Double {
        let begin = clu_now_ns()
        body()
        return Double(clu_now_ns() - begin) / 1_000_000
    }
}
