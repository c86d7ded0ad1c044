internal import ArgumentParser
internal import CLagBeacon
internal import Glibc

/// Steps `CLOCK_REALTIME` by the numbers that it reads from stdin, nanoseconds in each line, and sets it back when stdin ends.
///
/// It does *not* exit with its parent: then stdin ends, and it must correct the clock. Only SIGKILL prevents that.
struct StepClockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "step-clock", shouldDisplay: false)

    @Option var parent: Int32

    func run() throws {
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE] { signal(number, SIG_IGN) }
        let right = Self.realtime() - Self.monotonic()
        defer { try? Self.set(right + Self.monotonic()) }
        while let line = readLine() {
            guard let step = Int64(line) else { throw AccuracyFailure("step-clock: '\(line)' is not a number of nanoseconds") }
            try Self.set(Self.realtime() + step)
        }
    }

    private static func realtime() -> Int64 { read(CLOCK_REALTIME) }
    private static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func set(_ nanoseconds: Int64) throws {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        guard clock_settime(CLOCK_REALTIME, &time) == 0 else {
            throw AccuracyFailure("the clock cannot be set (\(String(cString: strerror(errno)))): --set-clock needs CAP_SYS_TIME")
        }
    }
}
