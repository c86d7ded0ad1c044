/// Counts lines that are not counted as stalls.
package struct LineTally: Sendable, Equatable {
    package var lines: UInt64 = 0
    /// Not JSON, or too long.
    package var damaged: UInt64 = 0
    /// Our lines without fields that a stall requires.
    package var incomplete: UInt64 = 0
    /// JSON lines of other programs.
    package private(set) var foreign: UInt64 = 0
    /// Lines in formats that are not read.
    package private(set) var otherFormats: [OtherFormat: UInt64] = [:]
    /// Lines of stalls that another line already counted.
    package var repeated: UInt64 = 0
    /// Lines of stalls outside the requested times and names.
    package var outside: UInt64 = 0

    package init() {}

    package var otherFormatCount: UInt64 { otherFormats.values.reduce(0, +) }

    /// Whether there were only lines that are not read, some of them ours.
    package var isUnread: Bool { otherFormatCount > 0 && otherFormatCount + foreign + damaged + incomplete == lines }

    /// Counts a JSON line that is not a record in the native format.
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
