package import LagModel

/// A stall as it is in a line, for callers that need more than figures. Missing fields are nil or empty.
package struct ParsedStall: Sendable {
    package var id = ""
    /// When it began, in nanoseconds since 1970.
    package var time: Int64 = 0
    package var phase = StallRecord.Phase.end
    package var durationNanoseconds: UInt64 = 0
    package var fingerprint = ""
    package var message = ""
    package var kind = ""
    package var cause = ""
    package var culprit: String?
    package var loop = ""
    package var hostName = ""
    package var processName = ""
    package var serviceName: String?
    package var serviceVersion: String?
    /// The operator's labels.
    package var labels = RecordLabels.none
    package var pid: Int64 = 0
    package var threadID: Int64 = 0
    package var threadName = ""
    package var cpuNanoseconds: UInt64?
    package var runDelayNanoseconds: UInt64?
    package var blockedNanoseconds: UInt64?
    package var syscall: String?
    package var syscallTarget: String?
    package var capture = ""
    package var samples: UInt64 = 0
    package var samplesMatched: UInt64 = 0
    /// The depth of the stack; more than the count of ``frames`` if not all fit in the line.
    package var framesTotal: UInt64 = 0
    /// Leaf first.
    package var frames: [StallRecord.Frame] = []
    /// All samples of the thread, merged; empty when the line has none.
    package var sampleTree: [Sample] = []

    /// A chain of calls that samples share.
    package struct Sample: Sendable, Hashable {
        package var nanoseconds: UInt64 = 0
        package var samples: UInt64 = 0
        /// Root to leaf.
        package var frames: [String] = []
        package var framesTotal: UInt64?
        package var children: [Sample] = []
        package var prunedNanoseconds: UInt64 = 0
    }
}
