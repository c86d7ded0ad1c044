package import LagMonitor

/// A little work beside the stalls, so that they happen in a realistic process: two keep-alive threads that compute
/// for a millisecond twenty times a second (about four per cent of one processor), and a tick on the main loop.
package final class BackgroundWork: Sendable {
    private let workers: [KeepAliveThread]

    /// Starts it; it continues while the object lives.
    /// - Throws: `RunLoopError` if the system cannot start a thread.
    package init(on main: ObservedRunLoop) throws {
        workers = try (1...Self.threads).map { try KeepAliveThread(name: "background-\($0)") }
        for worker in workers { Self.tick(on: worker.loop, every: Self.period, for: Self.work) }
        Self.tick(on: main, every: Self.mainPeriod, for: Self.mainWork)
    }

    private static func tick(on loop: ObservedRunLoop, every period: Duration, for work: Duration) {
        loop.add(RunLoopTimer(after: period, interval: period) { _ in computeBriefly(.now + work) }, to: .common)
    }

    private static let threads = 2
    private static let period: Duration = .milliseconds(50)
    private static let work: Duration = .milliseconds(1)
    private static let mainPeriod: Duration = .milliseconds(100)
    /// Far below any threshold.
    private static let mainWork: Duration = .microseconds(100)
}
