internal import Glibc
internal import LagMonitor

/// A little work on threads of its own, so that the stalls happen in a process that lives.
enum BackgroundWork {
    /// Two threads, each computing for a millisecond twenty times a second: about four per cent of one processor.
    static func start() throws(WorkloadTrouble) {
        for _ in 0..<threads {
            try WorkerThread.start {
                while true {
                    computeBriefly(.now + work)
                    sleepUntil(.now + rest)
                }
            }
        }
    }

    static let threads = 2
    static let work: Duration = .milliseconds(1)
    static let rest: Duration = .milliseconds(49)
    /// The main loop's own tick, far below any threshold.
    static let mainTick: Duration = .milliseconds(100)
    static let mainWork: Duration = .microseconds(100)
}
