internal import LagMonitor
internal import LagRemote

/// Names the watched processes whose clients are served by threads that are no loops: stalls of these are not found. Each once.
///
/// A value of one thread.
struct ThreadServerHints {
    private struct Known: Hashable {
        let pid: Int32
        let startTicks: UInt64
    }

    private var known: Set<Known> = []
    private var linesLeft = 4

    /// - Parameter watched: the processes that are watched.
    /// - Returns: new messages.
    mutating func update(_ watched: [WatchedProcess]) -> [String] {
        let present = watched.filter { !$0.loops.isEmpty }
        known.formIntersection(present.map { Known(pid: $0.pid, startTicks: $0.startTicks) })
        var messages: [String] = []
        for process in present where linesLeft > 0 {
            let id = Known(pid: process.pid, startTicks: process.startTicks)
            guard !known.contains(id), ThreadServer.isRun(by: process.pid) else { continue }
            known.insert(id)
            linesLeft -= 1
            messages.append(
                "\(process.name) [\(process.pid)] serves its clients by threads beside \(process.loops[0].name), which only accepts them: "
                    + "what these threads do is not watched"
            )
        }
        return messages
    }
}
