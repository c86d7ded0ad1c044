internal import Glibc
package import LagMonitor
internal import Synchronization

// Kinds that wait in the kernel: sleep, read, lock, child, hang.

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

/// A mutex of the workload, never freed: a thread may still hold it when its step is over.
// Unchecked: the pointer never changes and its memory is never freed; any thread may use a pthread mutex.
struct WorkloadMutex: @unchecked Sendable {
    let raw: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: pthread_mutex_t())
        pthread_mutex_init(raw, nil)
    }
}

/// Opens once; from then on waiting threads pass.
private final class Gate: Sendable {
    private let isOpen = Atomic(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    /// Waits some microseconds, as long as a thread needs to start.
    func wait() {
        while !isOpen.load(ordering: .acquiring) { usleep(50) }
    }
}

/// A mutex that another thread holds until a time.
struct HeldMutex {
    /// One for all steps: they come one after the other, and each leaves it free.
    private static let mutex = WorkloadMutex()
    var raw: UnsafeMutablePointer<pthread_mutex_t> { Self.mutex.raw }

    init(until deadline: MonotonicTime) throws(WorkloadError) {
        let mutex = Self.mutex
        let held = Gate()
        try WorkloadThread.start {
            pthread_mutex_lock(mutex.raw)
            held.open()
            sleepUntil(deadline)
            pthread_mutex_unlock(mutex.raw)
        }
        held.wait()
    }
}

/// Waits for the mutex, and gives it back at once.
@inline(never)
func acquireHeldMutex(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) {
    pthread_mutex_lock(mutex)
    pthread_mutex_unlock(mutex)
}

/// Two mutexes, the second of them held by a thread that waits for the first.
struct DeadlockedPair {
    let first: UnsafeMutablePointer<pthread_mutex_t>
    let second: UnsafeMutablePointer<pthread_mutex_t>

    /// - Parameter deadline: when a third thread ends the deadlock; nil: never.
    init(releasedAt deadline: MonotonicTime?) throws(WorkloadError) {
        let (first, second) = (WorkloadMutex(), WorkloadMutex())
        let held = Gate()
        pthread_mutex_lock(first.raw)
        try WorkloadThread.start {
            pthread_mutex_lock(second.raw)
            held.open()
            pthread_mutex_lock(first.raw)
            // Not a tail call, which would leave no frame of this function.
            pthread_mutex_unlock(first.raw)
        }
        held.wait()
        if let deadline {
            try WorkloadThread.start {
                sleepUntil(deadline)
                // On behalf of the other thread: for default mutexes, glibc does not check the owner.
                pthread_mutex_unlock(second.raw)
            }
        }
        (self.first, self.second) = (first.raw, second.raw)
    }
}

/// Holds the first mutex and waits for the second, whose holder waits for the first: never returns.
@inline(never)
func lockInOppositeOrder(_ first: UnsafeMutablePointer<pthread_mutex_t>, _ second: UnsafeMutablePointer<pthread_mutex_t>) {
    pthread_mutex_lock(second)
    pthread_mutex_unlock(second)
    pthread_mutex_unlock(first)
}

/// Starts `sleep` and waits for its end.
///
/// The child starts with no signal blocked and none ignored, whatever lagmond does with its own.
@inline(never)
func waitForChildProcess(_ length: Duration) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var every = sigset_t()
    sigfillset(&every)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &every)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let seconds = "\(Double(length.wholeNanoseconds) / 1_000_000_000)"
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup(seconds), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawnp(&child, "sleep", nil, &attributes, &arguments, environ)
    guard code == 0 else {
        WorkloadMessage.write("workload step child: sleep cannot be started: \(WorkloadMessage.reason(code))")
        return
    }
    WorkloadChild.current.store(child, ordering: .releasing)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    WorkloadChild.current.store(0, ordering: .releasing)
}

/// The child that is being waited for, so that it does not outlive the run.
package enum WorkloadChild {
    fileprivate static let current = Atomic<pid_t>(0)

    /// Ends the child in progress, if there is one. Any thread.
    package static func kill() {
        let child = current.load(ordering: .acquiring)
        if child > 0 { _ = Glibc.kill(child, SIGKILL) }
    }
}
