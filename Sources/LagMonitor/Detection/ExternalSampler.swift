/// Samples loops that publish nothing themselves, and writes their activities into their beacons.
///
/// The watchdog's thread calls it around each of its scans: it must take no lock that is held for long, not allocate, and do
/// nothing unbounded.
package protocol ExternalSampler: AnyObject, Sendable {
    /// Called before a scan of the beacons.
    /// - Returns: whether a scan must follow; false if nothing can have changed.
    func sample(at now: UInt64) -> Bool

    /// Called after a scan.
    /// - Returns: when to scan again at the latest.
    func prepareNextSample() -> UInt64
}
