/// What it means if a loop's beacon publishes `waiting`.
package enum PublishedWaits: Sendable, Equatable {
    /// The loop is idle, as it publishes itself.
    case rests
    /// The loop reached its wait, which ends a turn. Whether it slept there is not known: events may have been ready.
    case turns
    /// A sample found the thread asleep in its wait. Not every wait is seen.
    case samples
}
