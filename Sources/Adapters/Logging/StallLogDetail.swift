#if Logging
    /// How much of a stall's record is in the metadata of its log entry. The keys are those of the JSON line; numbers are texts,
    /// as swift-log requires. The operator's `labels` are always included.
    public enum StallLogDetail: Sendable {
        /// The fields for filtering entries and for finding the whole record: `loop`, `cause`, `culprit`, `fingerprint`, `id`.
        case short
        /// Every field, with the line's exact numbers, and this many frames, innermost first; 0: none.
        case full(frames: Int = 16)
    }
#else
    /// Without the trait nothing uses it; it has its cases so that the compiler's error names the trait.
    public enum StallLogDetail: Sendable {
        case short
        case full(frames: Int = 16)
    }
#endif
