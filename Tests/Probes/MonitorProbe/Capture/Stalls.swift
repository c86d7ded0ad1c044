internal import CLagBeacon
internal import CLagLinux
import Dispatch
import Glibc
import StallFixtures

// The functions that must be found in the stacks. Never inlined, and with code after the call, so that they stay on the stack.
// Each returns 0 if the stall was not disturbed.

@inline(never) func spinUntilReleased(_ thread: StalledThread) -> Int {
    var x: UInt64 = 1
    while !thread.isReleased { x = x &* 6_364_136_223_846_793_005 &+ 1 }
    return x == 0 ? 1 : 0
}

/// An interrupted sleep reports EINTR, and is shorter.
@inline(never) func sleepUndisturbed(_ milliseconds: Int) -> Int {
    let begin = clb_now_ns()
    var time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
    let result = nanosleep(&time, nil)
    return result == 0 && clb_now_ns() - begin >= UInt64(milliseconds) * 1_000_000 ? 0 : 1
}

@inline(never) func readUndisturbed(_ descriptor: Int32) -> Int {
    var byte: UInt8 = 0
    let result = read(descriptor, &byte, 1)
    return result == 1 ? 0 : Int(errno)
}

@inline(never) func pollUndisturbed(_ descriptor: Int32) -> Int {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let result = poll(&entry, 1, 10_000)
    return result == 1 ? 0 : Int(errno)
}

@inline(never) func lockUndisturbed(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int {
    let result = pthread_mutex_lock(mutex)
    pthread_mutex_unlock(mutex)
    return Int(result)
}

@inline(never) func waitUndisturbed(_ semaphore: UnsafeMutablePointer<sem_t>) -> Int {
    let result = sem_wait(semaphore)
    return result == 0 ? 0 : Int(errno)
}

/// Its function in the Swift overlay has no frame record and no unwind information.
@inline(never) func waitAtMost(_ semaphore: DispatchSemaphore) -> Int {
    let result = semaphore.wait(timeout: .now() + .seconds(60))
    return result == .success ? 0 : 1
}

@inline(never) func waitForChild(_ child: pid_t) -> Int {
    var status: Int32 = 0
    let result = waitpid(child, &status, 0)
    return result == child && status == 0 ? 0 : Int(errno)
}

@inline(never) func syncUntilReleased(_ thread: StalledThread, _ descriptor: Int32) -> Int {
    var bytes = [UInt8](repeating: 7, count: 256 * 1024)
    var result = 0
    while !thread.isReleased {
        if pwrite(descriptor, &bytes, bytes.count, 0) != bytes.count { result = Int(errno) }
        if fsync(descriptor) != 0 { result = Int(errno) }
    }
    return result
}

@inline(never) func waitInVfork(_ milliseconds: Int32) -> Int {
    fixture_vfork_wait(milliseconds)
    return 0
}

/// Sleeps and computes alternately, so fast that it is rarely twice in the same state.
@inline(never) func alternateUntilReleased(_ thread: StalledThread) -> Int {
    var result = 0
    while !thread.isReleased {
        var time = timespec(tv_sec: 0, tv_nsec: 200_000)
        if nanosleep(&time, nil) != 0 { result = 1 }
        let end = clb_now_ns() + 200_000
        while clb_now_ns() < end {}
    }
    return result
}
