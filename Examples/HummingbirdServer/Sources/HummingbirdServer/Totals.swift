import Foundation

/// State that somebody put on the main actor, because it was at hand.
@MainActor final class Totals {
    nonisolated init() {}

    func sum() -> Int {
        waitForSlowDisk()
        return 42
    }

    @inline(never) private func waitForSlowDisk() { usleep(400_000) }
}
