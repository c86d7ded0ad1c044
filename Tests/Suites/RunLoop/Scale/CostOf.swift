import Glibc

/// The cost of work on its thread: processor time, and the lowest of several tries. Other programs on the machine change neither
/// much.
func costOf(tries: Int = 3, _ body: () throws -> Void) rethrows -> Double {
    var least = Double.infinity
    for _ in 0..<tries {
        let begin = threadNanoseconds()
        try body()
        least = min(least, Double(threadNanoseconds() - begin))
    }
    return least
}

/// Processor time of the calling thread.
func threadNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
