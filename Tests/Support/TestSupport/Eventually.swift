import Glibc
import LagMonitor

/// Polls until `condition` holds. False when it does not within the time, which is there against a hang alone: a busy machine may need long.
public func eventually(seconds: Int = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicTime.now + .seconds(seconds)
    while !(try condition()) {
        if MonotonicTime.now > deadline { return try condition() }
        usleep(2000)
    }
    return true
}
