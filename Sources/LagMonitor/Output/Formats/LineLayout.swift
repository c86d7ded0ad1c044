/// A format other than the native one: one type each.
///
/// It writes what it is given and decides nothing: how much there is room for is ``RecordEncoder``'s business, which tries
/// with less until the line fits.
protocol LineLayout: Sendable {
    /// Writes the whole line, newline included.
    func write(_ event: LineSubject, _ detail: LineDetail, context: ProcessContext, to writer: inout JSONLineWriter)
}

/// How much of an event is written.
struct LineDetail {
    let caps: StringCaps
    /// A line that is longer will not be used: once it is, frames may be left out.
    let maxLineBytes: Int
    /// The stalled thread's frames, from the leaf on.
    var frames = 0
    /// Whether frames have their full names, where these say more.
    var functions = false
    /// Frames of each thread that holds a lock.
    var ownerFrames = 0
}

extension RecordFormat {
    /// Nil: the line is the record itself.
    var layout: (any LineLayout)? {
        switch self {
        case .native: nil
        case .otlp: OTLPLayout()
        case .ecs: ECSLayout()
        case .sentry: SentryLayout()
        }
    }
}
