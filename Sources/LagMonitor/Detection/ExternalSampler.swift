/// Samples loops that publish nothing themselves, and writes their activities into their beacons.
///
/// Called by the watchdog's thread around each of its scans: no lock that is held for long, no allocation, nothing unbounded.
package protocol ExternalSampler: AnyObject, Sendable {
    /// Before a scan of the beacons.
    /// - Returns: whether a scan is to follow; it is not, where nothing can have changed.
    func sample(at now: UInt64) -> Bool

    /// After it.
    /// - Returns: when to scan again at the latest.
    func prepareNextSample() -> UInt64
}
