/// The possible contents of a field.
package enum FieldContent: Sendable {
    case schema
    case event
    /// One of these words; later versions have the same.
    case oneOf([String])
    /// One of these words; later versions may add some.
    case word([String])
    case text
    /// A text whose end is more important than its beginning: if it is cut, the end stays.
    case path
    /// RFC 3339 in UTC with nine fractional digits.
    case time
    /// A UUID of version 7.
    case stallID
    /// `v1:` and sixteen hex digits.
    case fingerprint
    /// Sixteen lower-case hex digits.
    case stackHash
    /// 32 lower-case hex digits.
    case bootID
    /// 32 lower-case hex digits, not all zeros.
    case traceID
    /// `0x` and up to sixteen hex digits.
    case address
    /// Not negative, with a fraction.
    case milliseconds
    /// Not negative, with a fraction.
    case seconds
    /// From 0 to 1.
    case share
    /// Whole, not negative, at most 2^64 − 1.
    case count
    /// Whole, of 32 bits: a descriptor.
    case int32
    /// Whole, not negative, of 32 bits: a process, a thread.
    case taskID
    /// Whole.
    case integer
    case flag
    /// Names of rules.
    case kinds
    case texts
    /// An object of texts: ``RecordLabels``.
    case labels
    case frames
    case thread
    case threads
    case threadIDs
    case workers
    case request
    case requests
    case task
    /// An object of texts, with any names.
    case attributes
    case sampleTree
}
