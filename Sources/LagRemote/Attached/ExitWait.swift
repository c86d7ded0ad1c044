internal import CLagBeacon
internal import CLagRemote
internal import Glibc
internal import Synchronization

/// The wait of a thread for the exit of another process, which any thread can end. It wakes for nothing else.
final class ExitWait: Sendable {
    /// An eventfd; negative: there was no descriptor left.
    private let posts: Int32
    /// Without a descriptor: whether this was posted, which is noticed with this delay.
    private let isPosted = Atomic<Bool>(false)
    private static let pollNanoseconds: UInt64 = 100_000_000

    /// - Parameter posts: an eventfd, which this object closes; negative: none.
    init(posts: Int32 = clr_event_open()) { self.posts = posts }

    deinit { if posts >= 0 { close(posts) } }

    /// Ends the present wait, or the next one. Any thread.
    func post() {
        guard posts >= 0 else { return isPosted.store(true, ordering: .releasing) }
        var one: UInt64 = 1
        _ = write(posts, &one, MemoryLayout<UInt64>.size)
    }

    /// - Parameters:
    ///   - process: the process's pidfd.
    ///   - deadline: `CLOCK_MONOTONIC` nanoseconds.
    /// - Returns: whether the process has exited, or this was posted.
    @discardableResult
    func wait(for process: Int32, until deadline: UInt64) -> Bool {
        var now = clb_now_ns()
        repeat {
            var left = deadline > now ? deadline - now : 0
            if posts < 0 { left = min(left, Self.pollNanoseconds) }
            if waitOnce(for: process, left) || isPosted.exchange(false, ordering: .acquiring) { return true }
            now = clb_now_ns()
        } while now < deadline
        return false
    }

    private func waitOnce(for process: Int32, _ nanoseconds: UInt64) -> Bool {
        var entries = (
            pollfd(fd: process, events: Int16(POLLIN), revents: 0), pollfd(fd: posts, events: Int16(POLLIN), revents: 0)
        )
        let milliseconds = Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
        let ready = withUnsafeMutableBytes(of: &entries) { poll($0.bindMemory(to: pollfd.self).baseAddress, 2, milliseconds) }
        if ready > 0, entries.1.revents != 0 {
            var count: UInt64 = 0
            _ = read(posts, &count, MemoryLayout<UInt64>.size)
        }
        return ready > 0
    }
}
