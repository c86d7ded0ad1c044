internal import Glibc
package import LagMonitor

// Kinds that wait in the kernel: sleep, read.

/// Sleeps until a time on the monotonic clock.
@inline(never)
package func sleepUntil(_ deadline: MonotonicTime) {
    var time = timespec(
        tv_sec: Int(deadline.nanoseconds / 1_000_000_000),
        tv_nsec: Int(deadline.nanoseconds % 1_000_000_000)
    )
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}

/// A pipe into which another thread writes one byte, late.
struct LatePipe {
    let readEnd: Int32

    init(filledAt deadline: MonotonicTime) throws(WorkloadError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw WorkloadError(call: "pipe", code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        self.readEnd = readEnd
        do {
            try WorkloadThread.start {
                sleepUntil(deadline)
                var byte: UInt8 = 1
                _ = write(writeEnd, &byte, 1)
                _ = Glibc.close(writeEnd)
            }
        } catch {
            _ = Glibc.close(readEnd)
            _ = Glibc.close(writeEnd)
            throw error
        }
    }

    func close() { _ = Glibc.close(readEnd) }
}

/// Waits for the byte.
@inline(never)
func readFromLatePipe(_ descriptor: Int32) {
    var byte: UInt8 = 0
    while read(descriptor, &byte, 1) < 0 && errno == EINTR {}
}
