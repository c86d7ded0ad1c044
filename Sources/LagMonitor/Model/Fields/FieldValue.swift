/// What a record or a notice has in a field, before any format decides how it is written.
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
    case workers([StallRecord.WorkerGroup])
    case frames([StallRecord.Frame])
    case sampleTree([StallRecord.SampleNode])

    // Nil: it is a value of another type.
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var count: UInt64? { if case .count(let count) = self { count } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    var milliseconds: UInt64? { if case .milliseconds(let nanoseconds) = self { nanoseconds } else { nil } }
    var address: UInt64? { if case .address(let address) = self { address } else { nil } }
    var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }

    /// Of a number that is written with three fractional digits, the thousandths. Times are rounded down, so that a duration below a
    /// threshold never reads as one at it; a share outside 0…1 is brought into that range.
    package var thousandths: UInt64? {
        switch self {
        case .milliseconds(let nanoseconds): nanoseconds / 1000
        case .seconds(let nanoseconds): nanoseconds / 1_000_000
        case .share(let share): UInt64((min(1, max(0, share)) * 1000).rounded())
        default: nil
        }
    }
}
