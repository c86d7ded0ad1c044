/// A line that is not a stall: records were lost, records were held back, or a stall recurs.
public struct Notice: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        /// How many records were lost since the last notice of this reason; `total` is the count in this process.
        case dropped(count: UInt64, reason: DropReason, total: UInt64)
        /// A limit held records back; `total` is the count in this process.
        case suppressed(Suppression, total: UInt64)
        /// The same stall recurred.
        case recurring(Recurrence)
    }

    /// Where records were lost.
    public enum DropReason: String, Sendable, CaseIterable {
        /// The queue to the reporter was full.
        case queueFull = "queue_full"
        /// The sink reported an error: no space, no permission.
        case sinkFailed = "sink_failed"
        /// The sink's reader was too slow, up to the deadline.
        case sinkSlow = "sink_slow"
        /// A file of stalls in progress, left by a process that died, was damaged or too old: its content is not known.
        case unfinishedRefused = "unfinished_refused"
    }

    package var content: Content
    /// When the line was created.
    package var time: OutputTime

    package init(_ content: Content, time: OutputTime) {
        self.content = content
        self.time = time
    }

    /// Records of an earlier process that a sink could not deliver, for `RecordSink.takeAbandonedNotices()`. The monitor adds
    /// them to its own `dropped_total`, of which they are not yet a part. Any thread.
    public static func dropped(_ count: UInt64, _ reason: DropReason) -> Notice {
        dropped(count, reason, total: 0, time: .now())
    }

    /// Records were lost.
    /// - Parameters:
    ///   - count: since the last notice of this reason.
    ///   - total: `dropped_total`, in this process.
    package static func dropped(_ count: UInt64, _ reason: DropReason, total: UInt64, time: OutputTime) -> Notice {
        Notice(.dropped(count: count, reason: reason, total: total), time: time)
    }

    /// How many records were lost, and where; nil in other notices.
    public var loss: (count: UInt64, reason: DropReason)? {
        if case .dropped(let count, let reason, _) = content { (count, reason) } else { nil }
    }

    package var suppression: Suppression? { if case .suppressed(let held, _) = content { held } else { nil } }
    package var recurrence: Recurrence? { if case .recurring(let recurrence) = content { recurrence } else { nil } }

    package var event: LineEvent {
        switch content {
        case .dropped: .dropped
        case .suppressed: .suppressed
        case .recurring: .recurring
        }
    }

    /// The common fingerprint of the stalls that this is about; nil if they have several, or if it is not known.
    package var fingerprint: String? { suppression?.fingerprint ?? recurrence?.fingerprint }

    package var culprit: String? { suppression?.culprit ?? recurrence?.culprit }

    /// One human-readable line.
    public var message: String {
        switch content {
        case .dropped(let count, let reason, _): Self.message(of: count, reason)
        case .suppressed(let held, _): held.introduction + held.message
        case .recurring(let recurrence): recurrence.introduction + recurrence.message
        }
    }

    private static func message(of count: UInt64, _ reason: DropReason) -> String {
        let records = count == 1 ? "1 record" : "\(count) records"
        return switch reason {
        case .queueFull: "\(records) lost: the queue of stalls to report was full"
        case .sinkFailed: "\(records) lost: the output did not accept them"
        case .sinkSlow: "\(records) lost: the output's reader was too slow"
        case .unfinishedRefused:
            "\(count == 1 ? "a file" : "\(count) files") of stalls in progress of an earlier process refused: damaged or too old"
        }
    }
}
