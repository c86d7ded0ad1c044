internal import CLagBeacon
package import LagActivity
internal import LagMonitor

/// A loop of another process, found by its waits or published by that process's own monitor.
package final class RemoteLoop: ObservableLoop {
    package let beacon: ActivityBeacon
    package let thread: ThreadIdentity
    package let name: String
    let claim: UInt64
    /// Published by the process's own monitor.
    let isFromMonitor: Bool
    private let modes: [String]

    init(_ loop: SharedLoopTable.Loop, _ owner: SharedLoopTable.Owner, in table: SharedLoopTable) {
        beacon = ActivityBeacon(at: clb_loop_table_beacon(table.raw, loop.index), in: table)
        let stack = owner.stack
        thread = ThreadIdentity(tid: loop.thread.thread, process: loop.process, stackLow: stack.low, stackHigh: stack.high)
        name = !loop.name.isEmpty ? loop.name : loop.thread.thread == loop.process ? "main" : "thread \(loop.thread.thread)"
        claim = loop.claim
        isFromMonitor = loop.isFromMonitor
        modes = loop.modes
    }

    /// Nil for a mode that was made after the watch began in the loop's process, or for whose name there was no room.
    package func modeName(_ number: UInt32) -> String? {
        guard let number = Int(exactly: number), modes.indices.contains(number - 1), !modes[number - 1].isEmpty else {
            return nil
        }
        return modes[number - 1]
    }
}
