package import LagOutput

/// A sink that gives lines back which it took and could not bring to its destination, so that somebody else keeps them.
package protocol ReturningSink: RecordSink {
    /// What distinguishes this destination from every other; its name, as by default, where that says all of it.
    var destination: String { get }

    /// From now on a line that may still arrive some day is given back instead of given up: where a request is to be made again, and at the end.
    func returnsUndelivered()

    /// Lines that are given back, oldest first, since the last call. Until they are taken no other line is (``SinkError/Reason/tooSlow``): it would go before
    /// them, and who keeps them would not know which ones they are.
    /// What was on its way with them may have arrived: then it arrives twice.
    /// - Parameter all: also those that wait or are on their way.
    func takeReturned(all: Bool) -> ReturnedLines
}

extension ReturningSink {
    package var destination: String { name }
}

/// Lines that a ``ReturningSink`` gives back.
package struct ReturnedLines: Sendable {
    package struct Line: Sendable {
        package let bytes: [UInt8]
        /// Counts as a record lost where it is lost.
        package let isRecord: Bool

        package init(bytes: [UInt8], isRecord: Bool) {
            self.bytes = bytes
            self.isRecord = isRecord
        }
    }

    package var lines: [Line] = []
    /// The least time before the next try, as the destination asked for it.
    package var retryAfterNanoseconds: UInt64 = 0

    package init() {}
}
