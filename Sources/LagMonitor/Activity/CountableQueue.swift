/// A queue whose waiting work can be counted.
package protocol CountableQueue: ObservableLoop {
    /// Waiting blocks and jobs, without the loop's own ping; nil: not known. Called by the watchdog while the queue stalls. Some
    /// 0.4 µs each, at most 512; no lock.
    func countWaiting() -> Int?
}
