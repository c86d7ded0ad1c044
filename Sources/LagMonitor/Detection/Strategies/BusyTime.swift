/// What is known about a loop's idle times at one moment, from another source than its beacon.
package struct BusyTime: Sendable, Equatable {
    /// The earliest time since which the loop has not been idle; 0: it is idle, or it is not known.
    package var since: UInt64
    /// Its present turn, counted from 1 at `since`; nil if turns are not counted.
    package var turns: UInt64?
}
