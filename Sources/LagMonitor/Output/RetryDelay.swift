/// When a failed action is retried: soon at first, then with growing delays. A pure value; the time is a parameter.
package struct RetryDelay: Sendable {
    let firstNanoseconds: UInt64
    let longestNanoseconds: UInt64
    private var delay: UInt64 = 0
    private var notBefore: UInt64 = 0

    package init(firstNanoseconds: UInt64 = 100_000_000, longestNanoseconds: UInt64 = 10_000_000_000) {
        self.firstNanoseconds = firstNanoseconds
        self.longestNanoseconds = longestNanoseconds
    }

    /// The time of the next try; 0: at once.
    package var nextNanoseconds: UInt64 { notBefore }

    package func allows(at now: UInt64) -> Bool { now >= notBefore }

    package mutating func recordFailure(at now: UInt64) {
        delay = delay == 0 ? firstNanoseconds : min(longestNanoseconds, delay &* 2)
        notBefore = now.saturatingSum(delay)
    }

    /// Not before that time, whatever the delay is.
    package mutating func postpone(until time: UInt64) { notBefore = max(notBefore, time) }

    /// It works again, or an immediate retry is requested.
    package mutating func reset() {
        delay = 0
        notBefore = 0
    }
}
