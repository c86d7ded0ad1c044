/// Looks at loops that tell nothing themselves, and writes into their beacons what they would have told.
///
/// Called by the watchdog's thread around each of its looks: no lock that is held for long, no allocation, nothing unbounded.
package protocol ExternalSampler: AnyObject, Sendable {
    /// Before a look at the beacons.
    func sample(at now: UInt64)

    /// After it.
    /// - Returns: when to look again at the latest.
    func prepareNextSample() -> UInt64
}
