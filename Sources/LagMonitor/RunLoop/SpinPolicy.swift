internal import Glibc

/// Whether to look for a wake for some microseconds before sleeping in the kernel. Pure, except for the number of processors.
///
/// A sleep and its wake cost 3–20 µs on two threads that answer each other; looking costs a tenth. So a loop looks first, but
/// only when its last four sleeps were all shorter than what looking may cost twice: an idle loop never does, and a busy one
/// loses at most 10 µs once, at the end of a burst.
struct SpinPolicy {
    static let budgetNanoseconds: UInt64 = 10_000
    private static let shortSleepNanoseconds: UInt64 = 20_000
    private static let shortSleepsNeeded = 4
    private static let hasSeveralProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    private var shortSleeps = 0

    var shouldSpin: Bool { shortSleeps >= SpinPolicy.shortSleepsNeeded && SpinPolicy.hasSeveralProcessors }

    /// Notes how long a sleep, with the looking before it, has lasted.
    mutating func noteSleep(nanoseconds: UInt64) {
        if nanoseconds > SpinPolicy.shortSleepNanoseconds {
            shortSleeps = 0
        } else if shortSleeps < SpinPolicy.shortSleepsNeeded {
            shortSleeps += 1
        }
    }
}
