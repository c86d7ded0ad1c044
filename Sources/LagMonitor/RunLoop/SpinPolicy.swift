internal import Glibc

/// Decides whether to poll for a wake for some microseconds before sleeping in the kernel. Pure, except for the number of
/// processors.
///
/// A sleep and its wake cost 3–20 µs if two threads answer each other; polling costs a tenth. So a loop polls first, but only
/// while most of its recent wakes were requested so soon that polling would have found them. An idle loop never polls; at the end
/// of a burst it polls in vain three times, 30 µs of processor time in all.
struct SpinPolicy {
    static let budgetNanoseconds: UInt64 = 10_000
    /// How many quick wakes in a row are needed to begin…
    private static let scoreNeeded = 4
    /// …and how many are remembered. Every late wake halves the score, so a single delay does not end a burst.
    private static let highestScore = 16
    private static let hasSeveralProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    private var score = 0

    var shouldSpin: Bool { score >= SpinPolicy.scoreNeeded && SpinPolicy.hasSeveralProcessors }

    /// Records how long after the beginning of a sleep, including the polling before it, its end was requested.
    mutating func recordSleep(nanoseconds: UInt64) {
        score = nanoseconds > SpinPolicy.budgetNanoseconds ? score / 2 : min(score + 1, SpinPolicy.highestScore)
    }
}
