import Glibc
import LagMonitor

/// Polls until `condition` holds. False if it does not within the time limit, which only protects against a hang: a busy machine
/// may be slow.
public func eventually(seconds: Int = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    try eventually(milliseconds: seconds * 1000, condition)
}

/// The same, mostly for what must not happen: a second record of a stall would follow within some hundred milliseconds.
public func eventually(milliseconds: Int, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = MonotonicTime.now + .milliseconds(milliseconds)
    while !(try condition()) {
        if MonotonicTime.now > deadline { return try condition() }
        usleep(2000)
    }
    return true
}
