import Foundation

/// State that is isolated to the main actor without need.
@MainActor final class Totals {
    nonisolated init() {}

    func sum() -> Int {
        waitForSlowDisk()
        return 42
    }

    @inline(never) private func waitForSlowDisk() { usleep(400_000) }
}
