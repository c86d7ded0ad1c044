/// The value of a field in a record or a notice, before a format decides how it is written.
package enum FieldValue: Sendable {
    case text(String)
    case texts([String])
    case labels(RecordLabels)
    case id(StallID)
    case count(UInt64)
    case integer(Int64)
    /// Nanoseconds here, milliseconds in the line.
    case milliseconds(UInt64)
    /// Nanoseconds here, seconds in the line.
    case seconds(UInt64)
    /// 0…1.
    case share(Double)
    /// Wall clock, nanoseconds since 1970.
    case time(Int64)
    case address(UInt64)
    case flag(Bool)
    case thread(StallRecord.LockOwner)
    case threads([StallRecord.LockOwner])
    case request(StallRecord.Request)
    case requests([StallRecord.Request])
    case task(StallRecord.RunningTask)
    case attributes([StallRecord.Request.Attribute])
    case workers([StallRecord.WorkerGroup])
    case frames([StallRecord.Frame])
    case sampleTree([StallRecord.SampleNode])

    // Nil: a value of another type.
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var texts: [String]? { if case .texts(let texts) = self { texts } else { nil } }
    var id: StallID? { if case .id(let id) = self { id } else { nil } }
    var count: UInt64? { if case .count(let count) = self { count } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    var milliseconds: UInt64? { if case .milliseconds(let nanoseconds) = self { nanoseconds } else { nil } }
    var share: Double? { if case .share(let share) = self { share } else { nil } }
    var time: Int64? { if case .time(let time) = self { time } else { nil } }
    var address: UInt64? { if case .address(let address) = self { address } else { nil } }
    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    var thread: StallRecord.LockOwner? { if case .thread(let thread) = self { thread } else { nil } }
    var threads: [StallRecord.LockOwner]? { if case .threads(let threads) = self { threads } else { nil } }
    var request: StallRecord.Request? { if case .request(let request) = self { request } else { nil } }
    var requests: [StallRecord.Request]? { if case .requests(let requests) = self { requests } else { nil } }
    var task: StallRecord.RunningTask? { if case .task(let task) = self { task } else { nil } }
    var attributes: [StallRecord.Request.Attribute]? { if case .attributes(let pairs) = self { pairs } else { nil } }
    var workers: [StallRecord.WorkerGroup]? { if case .workers(let workers) = self { workers } else { nil } }
    var frames: [StallRecord.Frame]? { if case .frames(let frames) = self { frames } else { nil } }

    /// A whole number of 32 bits.
    static func int32(_ number: Int32) -> FieldValue { .integer(Int64(number)) }
    var int32: Int32? { integer.flatMap(Int32.init(exactly:)) }

    /// The thousandths of a number that is written with three fractional digits. Times are rounded down, so that a duration below
    /// a threshold never reads as equal to it; a share outside 0…1 is clamped to that range.
    package var thousandths: UInt64? {
        switch self {
        case .milliseconds(let nanoseconds): nanoseconds / 1000
        case .seconds(let nanoseconds): nanoseconds / 1_000_000
        case .share(let share): UInt64((min(1, max(0, share)) * 1000).rounded())
        default: nil
        }
    }
}
