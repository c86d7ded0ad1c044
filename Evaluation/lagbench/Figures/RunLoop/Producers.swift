internal import LagActivity

/// Threads that all run the same body as fast as they can.
enum Producers {
    /// The result is the median of this many rounds; a round of the slowest peer takes seconds.
    static let rounds = 3
    private static let submissions = 50_000
    private static let patience = Duration.seconds(60)
    private static let pollMilliseconds = 0.05

    /// From the start of the threads until all their submissions are done.
    static func milliseconds(_ threads: Int, _ done: Tally = Tally(), _ submit: @escaping @Sendable (Tally) -> Void) throws
        -> Double
    {
        let begin = MonotonicTime.now
        let producers = try (0..<threads).map { _ in try BenchThread { for _ in 0..<submissions { submit(done) } } }
        for producer in producers { producer.join() }
        while done.value < threads * submissions {
            if .now > begin + patience { throw BenchmarkFailure("\(done.value) of \(threads * submissions) done") }
            Pause.sleep(milliseconds: pollMilliseconds)
        }
        return (MonotonicTime.now - begin) / .milliseconds(1)
    }
}
