internal import CLagLinux
internal import LagActivity
package import LagDetection
package import LagMonitor

/// A pool whose threads are found by their name.
protocol NamedPool: WorkerPool {
    /// Nil: it cannot be determined what a thread runs.
    var jobs: JobSource? { get }

    /// The name of its threads in the kernel.
    var threadName: cll_name { get }

    /// Fills in the kernel's ids of the pool's threads, as many as fit, whatever they do now. Some 6 µs a thread of the process.
    /// - Returns: their number.
    func findThreads(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int
}

extension WorkerPool {
    package static func makeWatch(registry: WatchRegistry) -> any PoolWatch { WorkerSearch(registry: registry) }
}

extension NamedPool {
    func findThreads(_ tids: UnsafeMutableBufferPointer<Int32>) -> Int {
        var name = threadName
        return cll_pool_threads(&name, tids.baseAddress, tids.count)
    }
}
