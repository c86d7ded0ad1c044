/// The input of a strategy.
package struct Observation: Sendable {
    /// The maximum time of a scan of all loops: an observation's content may be this much later than its time.
    static let longestRoundNanoseconds: UInt64 = 500_000_000

    package var reading: BeaconReading
    package var now: UInt64
    /// Whether a wait of one interval ended, on time.
    package var isTick: Bool
    package var processPause: ProcessPause?
    /// When the last ping was sent to the loop; 0: it is still being sent.
    package var pingedNanoseconds: UInt64
    /// When the loop last ticked; 0: never.
    package var tickedNanoseconds: UInt64
    /// The top of the stack, if it was sampled.
    package var sample: SampleKey?
    /// What is known of the loop's idle times; nil: use its beacon.
    package var busyTime: BusyTime?
    /// Whether the loop may be at rest while its beacon shows work: then only an examination decides.
    package var mayBeAtRest = false

    package init(
        _ reading: BeaconReading,
        at now: UInt64,
        isTick: Bool = false,
        processPause: ProcessPause? = nil,
        pinged: UInt64 = 0,
        ticked: UInt64 = 0,
        sample: SampleKey? = nil
    ) {
        self.reading = reading
        self.now = now
        self.isTick = isTick
        self.processPause = processPause
        pingedNanoseconds = pinged
        tickedNanoseconds = ticked
        self.sample = sample
    }
}
