/// A process whose loops are watched, or searched for from outside.
package struct WatchedProcess: Sendable {
    package let pid: Int32
    /// Its start time, in clock ticks since the machine started: together with the process ID it identifies the process uniquely.
    package let startTicks: UInt64
    /// The name in its records.
    package let name: String
    package let loops: [any ForeignLoop]
    /// Why no loop was found so far, once that was reported; nil: there is one, or it is not known yet.
    package var silence: String?

    /// Those that are counted and shown: a thread that only waits for time is not an event loop, and its stalls are not reported.
    /// Another value at each call: what a thread waits for may change.
    package var eventLoops: [any ForeignLoop] { loops.filter { !$0.waitsForTimeAlone } }
}
