internal import ArgumentParser
internal import CLagBeacon
internal import Glibc

/// Sets `CLOCK_REALTIME` by what it reads from stdin, nanoseconds a line, and sets it back when stdin ends.
///
/// It does *not* die with its parent: stdin ends then, and putting the clock right is what it is for. What it cannot survive is
/// SIGKILL.
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
