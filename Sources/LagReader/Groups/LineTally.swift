/// What lines there were, beside those that are counted.
package struct LineTally: Sendable, Equatable {
    package var lines: UInt64 = 0
    /// No JSON, or too long.
    package var damaged: UInt64 = 0
    /// Ours, without what a stall must have.
    package var incomplete: UInt64 = 0
    /// JSON of somebody else's.
    package var foreign: UInt64 = 0
    /// Of stalls that were counted by another line.
    package var repeated: UInt64 = 0
    /// Of stalls outside the times and names that were asked for.
    package var outside: UInt64 = 0

    package init() {}

    package mutating func add(_ other: LineTally) {
        lines += other.lines
        damaged += other.damaged
        incomplete += other.incomplete
        foreign += other.foreign
        repeated += other.repeated
        outside += other.outside
    }
}
