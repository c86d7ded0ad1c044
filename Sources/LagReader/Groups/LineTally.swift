/// What lines there were, beside those that are counted.
package struct LineTally: Sendable, Equatable {
    package var lines: UInt64 = 0
    /// No JSON, or too long.
    package var damaged: UInt64 = 0
    /// Ours, without what a stall must have.
    package var incomplete: UInt64 = 0
    /// JSON of other programs.
    package private(set) var foreign: UInt64 = 0
    /// Of formats that are not read.
    package private(set) var otherFormats: [OtherFormat: UInt64] = [:]
    /// Of stalls that were counted by another line.
    package var repeated: UInt64 = 0
    /// Of stalls outside the times and names that were asked for.
    package var outside: UInt64 = 0

    package init() {}

    package var otherFormatCount: UInt64 { otherFormats.values.reduce(0, +) }

    /// Whether there was nothing but lines that are not read, some of them ours.
    package var isUnread: Bool { otherFormatCount > 0 && otherFormatCount + foreign + damaged + incomplete == lines }

    /// A line that is JSON and no record in the native format.
    package mutating func addForeign(_ line: borrowing LineScanner) {
        if let format = line.otherFormat { otherFormats[format, default: 0] += 1 } else { foreign += 1 }
    }

    package mutating func add(_ other: LineTally) {
        lines += other.lines
        damaged += other.damaged
        incomplete += other.incomplete
        foreign += other.foreign
        otherFormats.merge(other.otherFormats, uniquingKeysWith: +)
        repeated += other.repeated
        outside += other.outside
    }
}
