internal import CLagBeacon
internal import CLagRemote
internal import Glibc

/// The wait of a thread for the exit of another process, which any thread can end. It wakes for nothing else.
final class ExitWait: Sendable {
    /// An eventfd; negative: there was no descriptor left.
    private let posts = clr_event_open()
    /// Then a post is noticed with this delay.
    private static let pollNanoseconds: UInt64 = 100_000_000

    deinit { if posts >= 0 { close(posts) } }

    /// Ends the present wait, or the next one. Any thread.
    func post() {
        var one: UInt64 = 1
        _ = write(posts, &one, MemoryLayout<UInt64>.size)
    }

    /// - Parameters:
    ///   - process: the process's pidfd.
    ///   - deadline: `CLOCK_MONOTONIC` nanoseconds.
    /// - Returns: whether the process has exited, or this was posted.
    func wait(for process: Int32, until deadline: UInt64) -> Bool {
        let now = clb_now_ns()
        var left = deadline > now ? deadline - now : 0
        if posts < 0 { left = min(left, Self.pollNanoseconds) }
        var entries = (
            pollfd(fd: process, events: Int16(POLLIN), revents: 0), pollfd(fd: posts, events: Int16(POLLIN), revents: 0)
        )
        let milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
        let ready = withUnsafeMutableBytes(of: &entries) { poll($0.bindMemory(to: pollfd.self).baseAddress, 2, milliseconds) }
        if ready > 0, entries.1.revents != 0 {
            var count: UInt64 = 0
            _ = read(posts, &count, MemoryLayout<UInt64>.size)
        }
        return ready > 0
    }
}
