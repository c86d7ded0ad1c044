#if Logging
    /// How much of a stall's record goes into the metadata of its log entry. The keys are those of the JSON line; numbers are texts, as
    /// swift-log has it. The operator's `labels` are in it however much that is.
    public enum StallLogDetail: Sendable {
        /// What entries are filtered by and what finds the whole record: `loop`, `cause`, `culprit`, `fingerprint`, `id`.
        case short
        /// Every field, with the line's exact numbers, and so many frames, innermost first; 0: none.
        case full(frames: Int = 16)
    }
#else
    /// Without the trait there is nothing that takes one; it has its cases, so that the error of what does names the trait.
    public enum StallLogDetail: Sendable {
        case short
        case full(frames: Int = 16)
    }
#endif
