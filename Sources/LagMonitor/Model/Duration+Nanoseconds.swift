extension Duration {
    /// This many nanoseconds; 292 years at most.
    package init(clampingNanoseconds nanoseconds: UInt64) { self = .nanoseconds(Int64(clamping: nanoseconds)) }

    /// Nanoseconds for a time-out: at least zero, at most the maximum of 64 bits.
    package var clampedNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return UInt64(seconds).saturatingProduct(1_000_000_000).saturatingSum(UInt64(attoseconds / 1_000_000_000))
    }
}
