/// A thread of a pool: a turn of it is one job. What it says is as of the last sample; the watchdog's thread.
package protocol JobLoop: SampledLoop {
    /// The number of the task whose job it ran; nil: no task's.
    var taskNumber: UInt32? { get }
    /// Whether it still runs that job. As a sample: some 20 µs.
    var isAtSameJob: Bool { get }
}
