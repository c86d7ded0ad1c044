internal import LagOutput

extension OTLPSink {
    /// A line, and what is lost with it.
    struct Line {
        enum Content {
            case record
            /// The losses that it reports must be reported again.
            case losses(Notice)
            /// What it reports is also in later lines.
            case notice

            init(_ facts: LineFacts) {
                guard let notice = facts.notice else {
                    self = facts.stall == nil ? .notice : .record
                    return
                }
                self = notice.loss == nil ? .notice : .losses(notice)
            }
        }

        let bytes: [UInt8]
        let content: Content

        var isRecord: Bool { if case .record = content { true } else { false } }
    }
}
