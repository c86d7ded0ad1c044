/// How many at once, and how many after that.
package struct TokenRate: Sendable, Equatable {
    /// The capacity of a bucket; at least 1.
    package let burst: UInt64
    /// The time for one more token.
    package let intervalNanoseconds: UInt64

    package init(burst: UInt64, intervalNanoseconds: UInt64) {
        self.burst = max(1, burst)
        self.intervalNanoseconds = intervalNanoseconds
    }

    /// How far a bucket with one token left is ahead of its refilling.
    fileprivate var spareNanoseconds: UInt64 {
        return (burst - 1).saturatingProduct(intervalNanoseconds)
    }
}

/// A bucket of tokens that refills evenly, stored as one time: when it would be full again.
///
/// This is the generic cell rate algorithm (ITU-T I.371): whole numbers only, nothing to do while time passes.
struct TokenBucket: Sendable, Equatable {
    private var fullAgainNanoseconds: UInt64 = 0

    /// When the next token is available.
    func nextToken(_ rate: TokenRate) -> UInt64 {
        let spare = rate.spareNanoseconds
        return fullAgainNanoseconds.saturatingDifference(spare)
    }

    /// Takes a token, whether or not one is available.
    mutating func take(_ rate: TokenRate, at now: UInt64) {
        fullAgainNanoseconds = max(fullAgainNanoseconds, now).saturatingSum(rate.intervalNanoseconds)
    }
}
