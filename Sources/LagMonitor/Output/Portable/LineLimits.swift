/// The limits of a line and its contents.
package struct LineLimits: Sendable, Equatable {
    /// The default of `max_line_bytes`: rsyslog cuts at 8,096 bytes by default.
    package static let defaultLineBytes = 8000
    /// The allowed range of `max_line_bytes`. The shortest line with every required field at its tightest cap fits in the lower
    /// end (a test proves it with extreme values); at the upper end, even the most tolerant reader fails.
    package static let allowedLineBytes = 1024...1_048_576
    /// A symbol longer than this is cut, on the boundary of a Unicode scalar.
    package static let maximumSymbolBytes = 256
    /// Frames of a lock's owner in a line; the stalled thread's frames are more important.
    package static let maximumOwnerFrames = 8

    /// The longest line, its newline included, in bytes.
    package let maxLineBytes: Int

    package static let standard = LineLimits(unchecked: defaultLineBytes)

    /// - Throws: ``LineLimitsError`` when `maxLineBytes` is outside ``allowedLineBytes``.
    package init(maxLineBytes: Int) throws(LineLimitsError) {
        guard Self.allowedLineBytes.contains(maxLineBytes) else { throw LineLimitsError(maxLineBytes: maxLineBytes) }
        self.maxLineBytes = maxLineBytes
    }

    /// Limits for lines that may be kept and marked later, so that the marked lines also fit, unless the limit is the lowest
    /// allowed.
    package func leavingRoomForLateField(in format: RecordFormat) -> LineLimits {
        LineLimits(unchecked: max(Self.allowedLineBytes.lowerBound, maxLineBytes - format.lateField.byteCount))
    }

    private init(unchecked maxLineBytes: Int) { self.maxLineBytes = maxLineBytes }
}

/// A limit that no line could keep, or none would need.
package struct LineLimitsError: Error, Sendable, Equatable, CustomStringConvertible {
    package let maxLineBytes: Int

    package var description: String {
        let allowed = LineLimits.allowedLineBytes
        return "max_line_bytes is \(maxLineBytes), allowed is \(allowed.lowerBound) to \(allowed.upperBound)"
    }
}
