internal import Glibc

/// The process that sets the machine's wall clock for the target, and puts it right again however the rest ends: when the last
/// writer of its pipe is gone, it sets the clock back (``StepClockCommand``).
final class ClockGuardian {
    /// Where steps are requested: nanoseconds, one per line.
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

    /// Whether it exited early: then it may not set the clock.
    var hasFailed: Bool { process.hasEnded }

    /// Makes it correct the clock, and waits for its exit. The target, which holds the pipe as well, has exited by now.
    func end() {
        close(input)
        while !process.hasEnded { usleep(1000) }
    }
}
