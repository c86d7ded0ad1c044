/// A loop for which several threads work at once: a pool.
package protocol ThreadPoolLoop: ObservableLoop {
    /// Fills in the kernel's ids of the threads that may be working for it, as many as fit. Called by the watchdog: no lock, no
    /// allocation.
    /// - Returns: the number of ids.
    func findWorkers(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int

    /// The start of the function that is on the stack of every working thread, and on no idle one's. Called by the watchdog.
    var workFunction: UInt64 { get }
}
