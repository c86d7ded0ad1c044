/// A thread of a pool: one turn is one job. Its values are as of the last sample; the watchdog's thread.
package protocol JobLoop: SampledLoop {
    /// The number of the task whose job it ran; nil: not a task's job.
    var taskNumber: UInt32? { get }
    /// Whether it still runs that job. It takes a sample: some 20 µs.
    var isAtSameJob: Bool { get }
}
