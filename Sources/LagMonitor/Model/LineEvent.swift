/// What a line is about: the field `event`.
package enum LineEvent: String, Sendable, CaseIterable {
    /// A stall.
    case stall
    /// Records were lost.
    case dropped
    /// A limit held records back.
    case suppressed
    /// The same stall recurs.
    case recurring
}
