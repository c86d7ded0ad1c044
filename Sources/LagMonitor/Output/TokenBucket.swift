/// How many at once, and how many after that.
package struct TokenRate: Sendable, Equatable {
    /// What a full bucket holds; at least 1.
    package let burst: UInt64
    /// After so long there is one more.
    package let intervalNanoseconds: UInt64

    package init(burst: UInt64, intervalNanoseconds: UInt64) {
        self.burst = max(1, burst)
        self.intervalNanoseconds = intervalNanoseconds
    }

    /// How far ahead of its refilling a bucket with one token left is.
    fileprivate var spareNanoseconds: UInt64 {
        return (burst - 1).saturatingProduct(intervalNanoseconds)
    }
}

/// A bucket of tokens that refills evenly, kept as one time: when it would be full again.
///
/// That is the generic cell rate algorithm (ITU-T I.371): whole numbers only, nothing to do while time passes.
struct TokenBucket: Sendable, Equatable {
    private var fullAgainNanoseconds: UInt64 = 0

    /// From when on a token can be had.
    func nextToken(_ rate: TokenRate) -> UInt64 {
        let spare = rate.spareNanoseconds
        return fullAgainNanoseconds.saturatingDifference(spare)
    }

    /// Takes one, whether there is one or not.
    mutating func take(_ rate: TokenRate, at now: UInt64) {
        fullAgainNanoseconds = max(fullAgainNanoseconds, now).saturatingSum(rate.intervalNanoseconds)
    }
}
