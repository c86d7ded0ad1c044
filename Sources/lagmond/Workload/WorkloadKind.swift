/// The ways in which the workload stalls the main thread, or does not.
package enum WorkloadKind: String, CaseIterable, Sendable {
    /// Computes.
    case cpu
    /// Sleeps.
    case sleep
    /// Waits in `read` for a pipe that another thread fills late.
    case read
    /// Waits for a mutex that another thread holds.
    case lock
    /// Writes a file and makes the disk confirm it.
    case io
    /// Sends a request to a slow HTTP server on loopback and waits for the answer.
    case network
    /// Waits for a child process.
    case child
    /// Renders a long text from real data.
    case format
    /// Two threads, two mutexes, opposite order: a deadlock that lasts until the end.
    case hang
    /// Many callbacks of about a millisecond, one right after the other: the loop never sleeps meanwhile.
    case starve
    /// Many callbacks, each far below the threshold, with the loop asleep between them: nothing to report.
    case short
    /// A callback that does nothing: nothing to report.
    case idle

    /// The base name of the function that blocks, as it is in a frame's `symbol` and in the truth.
    package var functionName: String {
        switch self {
        case .cpu: "computeUntil"
        case .sleep: "sleepUntil"
        case .read: "readFromLatePipe"
        case .lock: "acquireHeldMutex"
        case .io: "writeAndSyncUntil"
        case .network: "fetchFromSlowServer"
        case .child: "waitForChildProcess"
        case .format: "renderReportUntil"
        case .hang: "lockInOppositeOrder"
        case .starve: "computeInTurn"
        case .short: "computeBriefly"
        case .idle: "stayIdle"
        }
    }
}
