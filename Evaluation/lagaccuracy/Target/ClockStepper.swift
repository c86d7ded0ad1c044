internal import Glibc
internal import LagMonitor
internal import LagWorkload
internal import Synchronization
internal import TestSupport

/// Sets the wall clock forward and back by minutes at random times: either the simulated clock of the observer-and-semaphore
/// watchdog, or the real clock, through the process that has the permission and corrects it at the end (``StepClockCommand``).
final class ClockStepper: Sendable {
    private let seed: UInt64
    private let semaphore: RealtimeSemaphore
    private let setter: Int32?
    private let count = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)

    init(seed: UInt64, semaphore: RealtimeSemaphore, setter: Int32?) {
        self.seed = seed
        self.semaphore = semaphore
        self.setter = setter
        // The clock is corrected when the last writer has closed the pipe, so children of the workload must not inherit it.
        if let setter { _ = fcntl(setter, F_SETFD, FD_CLOEXEC) }
    }

    /// How often the clock was set.
    var steps: Int { count.load(ordering: .relaxed) }

    func start() throws {
        try WorkloadThread.start { [self] in run() }
    }

    func stop() { stopping.store(true, ordering: .releasing) }

    private func run() {
        var random = SeededGenerator(seed: seed, condition: .stepped, purpose: 1)
        var away: Int64 = 0
        while true {
            sleepUntil(.now + .milliseconds(Int64.random(in: Self.pauseMilliseconds, using: &random)))
            if stopping.load(ordering: .acquiring) { return }
            // Some minutes away, and back: forward and backward come first equally often.
            let step =
                away != 0 ? -away : Int64.random(in: Self.minutes, using: &random) * 60 * (Bool.random(using: &random) ? 1 : -1)
            away += step
            apply(step * 1_000_000_000)
            count.add(1, ordering: .relaxed)
        }
    }

    private func apply(_ nanoseconds: Int64) {
        guard let setter else { return semaphore.step(byNanoseconds: nanoseconds) }
        let line = Array("\(nanoseconds)\n".utf8)
        _ = line.withUnsafeBytes { write(setter, $0.baseAddress, $0.count) }
    }

    private static let pauseMilliseconds: ClosedRange<Int64> = 200...1500
    private static let minutes: ClosedRange<Int64> = 1...10
}
