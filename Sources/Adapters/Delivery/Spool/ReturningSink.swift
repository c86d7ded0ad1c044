package import LagOutput

/// A sink that returns lines which it accepted and could not deliver, so that another object keeps them.
package protocol ReturningSink: RecordSink {
    /// Distinguishes this destination from every other; by default its name, if that is sufficient.
    var destination: String { get }

    /// From now on, a line that may still be delivered later is returned instead of abandoned: if a request must be retried, and
    /// at the close.
    func returnsUndelivered()

    /// Lines that are returned, oldest first, since the last call. Until they are taken, no other line is accepted
    /// (``SinkError/Reason/tooSlow``): it would be sent before them, and the keeper would not know which ones they are. A request
    /// in progress with these lines may have arrived: then they arrive twice.
    /// - Parameter all: include lines that wait or are in a request.
    func takeReturned(all: Bool) -> ReturnedLines
}

extension ReturningSink {
    package var destination: String { name }
}

/// Lines that a ``ReturningSink`` gives back.
package struct ReturnedLines: Sendable {
    package struct Line: Sendable {
        package let bytes: [UInt8]
        /// Counts as a lost record if it is lost.
        package let isRecord: Bool

        package init(bytes: [UInt8], isRecord: Bool) {
            self.bytes = bytes
            self.isRecord = isRecord
        }
    }

    package var lines: [Line] = []
    /// The minimum delay before the next try, as the destination requested it.
    package var retryAfterNanoseconds: UInt64 = 0

    package init() {}
}
