internal import Glibc

/// The process that sets the machine's wall clock for the target. It corrects the clock however the other processes end: when the
/// last writer of its pipe has closed it, it sets the clock back (``StepClockCommand``).
final class ClockGuardian {
    /// The descriptor to which steps are written: nanoseconds, one per line.
    let input: Int32
    private let process: ChildProcess

    init() throws {
        let ends = try PipeEnds()
        defer { close(ends.read) }
        input = ends.write
        do {
            process = try ChildProcess(["step-clock"], input: ends.read)
        } catch {
            close(ends.write)
            throw error
        }
    }

    /// Whether it exited early, because it has no permission to set the clock.
    var hasFailed: Bool { process.hasEnded }

    /// Makes it correct the clock, and waits for its exit. The target, which also has the pipe open, has exited by now.
    func end() {
        close(input)
        while !process.hasEnded { usleep(1000) }
    }
}
