internal import CLagBeacon
internal import Synchronization

/// A watch's share in the mirror of its loop's beacon: a second beacon, in a table that this process shares with the lagmond that
/// started it. Through it lagmond sees what the loop does, even when this process cannot report any more.
///
/// A loop has one mirror, however many watch it. It exists while the loop is watched, and is paused while all watches are paused.
/// A process that was not started by lagmond, or whose table is full, has no mirror, and nothing else changes. Any thread.
package final class BeaconMirror: Sendable {
    private enum RequestedState {
        case live, paused, released
    }

    /// The watches of a loop, and how many of them are paused.
    private struct Watchers {
        var count = 0
        var paused = 0

        var requestedState: Int { count == 0 ? CLB_MIRROR_NONE : paused == count ? CLB_MIRROR_PAUSED : CLB_MIRROR_LIVE }
    }

    private let beacon: ActivityBeacon
    private let name: String
    private let modes: [CChar]
    private let requestedState = Mutex(RequestedState.live)

    /// By the beacons' addresses: a beacon exists as long as a share in its mirror does.
    private static let watchers = Mutex<[UInt: Watchers]>([:])

    /// Whether there is a table. The first call maps it: some system calls.
    package static let isPossible = clb_mirror_open() == 0

    /// Nil if there is no table, and for loops to whose beacon several threads may publish, or no thread.
    package convenience init?(of loop: any ObservableLoop, named name: String) {
        guard Self.isPossible, loop.publishesActivity, !(loop is any UnpinnedLoop), !(loop is any ThreadPoolLoop) else {
            return nil
        }
        self.init(of: loop.beacon, named: name) { loop.modeName($0) }
    }

    /// - Parameter modeName: returns the name of a mode by its number; the first number is 1.
    init(of beacon: ActivityBeacon, named name: String, modeName: (UInt32) -> String?) {
        self.beacon = beacon
        self.name = Self.shortened(name)
        modes = Self.list(modeName)
        update { $0.count += 1 }
    }

    deinit { release() }

    package func setPaused(_ isPaused: Bool) {
        requestedState.withLock { requestedState in
            guard requestedState == (isPaused ? .live : .paused) else { return }
            requestedState = isPaused ? .paused : .live
            update { $0.paused += isPaused ? 1 : -1 }
        }
    }

    package func release() {
        requestedState.withLock { requestedState in
            guard requestedState != .released else { return }
            let wasPaused = requestedState == .paused
            requestedState = .released
            update { watchers in
                watchers.count -= 1
                if wasPaused { watchers.paused -= 1 }
            }
        }
    }

    private func update(_ change: (inout Watchers) -> Void) {
        Self.watchers.withLock { all in
            let key = UInt(bitPattern: beacon.raw)
            var watchers = all[key, default: Watchers()]
            change(&watchers)
            all[key] = watchers.count > 0 ? watchers : nil
            _ = clb_mirror_request(beacon.raw, UInt32(watchers.requestedState), name, modes)
        }
    }

    /// As much as fits into the table, in whole characters.
    private static func shortened(_ name: String) -> String { name.cut(toBytes: Int(CLB_LOOP_TABLE_NAME_MAX) - 1) }

    /// The names of the modes known so far, as far as there is space.
    private static func list(_ modeName: (UInt32) -> String?) -> [CChar] {
        var list: [CChar] = []
        var number: UInt32 = 1
        while let name = modeName(number) {
            let text = name.utf8.map { CChar(bitPattern: $0) } + [0]
            guard list.count + text.count <= Int(CLB_LOOP_TABLE_MODES_MAX) else { break }
            list += text
            number += 1
        }
        return list + [CChar](repeating: 0, count: Int(CLB_LOOP_TABLE_MODES_MAX) - list.count)
    }
}
