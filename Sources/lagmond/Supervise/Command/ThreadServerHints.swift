internal import LagMonitor
internal import LagRemote

/// Reports, once each, the watched processes that serve clients in threads that are not loops: stalls of these threads are not
/// found.
///
/// Used by one thread.
struct ThreadServerHints {
    private struct Known: Hashable {
        let pid: Int32
        let startTicks: UInt64
    }

    /// How many checks are left for each process: a server soon has clients, and a check takes up to some ms.
    private var triesLeft: [Known: Int] = [:]
    private var linesLeft = 4
    private static let mostTries = 24

    /// - Parameter watched: the processes that are watched.
    /// - Returns: new messages.
    mutating func update(_ watched: [WatchedProcess]) -> [String] {
        // If more loops are watched, these may be the serving threads.
        let present = watched.compactMap { process -> (WatchedProcess, String)? in
            // Read once: which loops count may change at any time.
            let loops = process.eventLoops
            return loops.count == 1 ? (process, loops[0].name) : nil
        }
        let ids = Set(watched.map { Known(pid: $0.pid, startTicks: $0.startTicks) })
        triesLeft = triesLeft.filter { ids.contains($0.key) }
        var messages: [String] = []
        for (process, loop) in present where linesLeft > 0 {
            let id = Known(pid: process.pid, startTicks: process.startTicks)
            let left = triesLeft[id, default: Self.mostTries]
            guard left > 0 else { continue }
            triesLeft[id] = left - 1
            guard ThreadServer.isRun(by: process.pid) else { continue }
            triesLeft[id] = 0
            linesLeft -= 1
            messages.append(
                "\(process.name) [\(process.pid)] serves its clients in threads other than \(loop), "
                    + "which only accepts connections: these threads are not watched"
            )
        }
        return messages
    }
}
