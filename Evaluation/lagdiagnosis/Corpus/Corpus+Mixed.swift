internal import Glibc
internal import LagMonitor

// Stalls with two parts: the larger part counts, regardless of which part the watchdog samples first.

extension Corpus {
    static let mixed: [Scenario] = [
        Scenario(
            "lock-then-compute",
            [.cpu],
            ["layOutPage"],
            "a lock for a quarter of the time, then computing",
            making: {
                let mutex = ThreadMutex()
                return { end in
                    try mutex.lockOnThread(named: "holder", until: share(0.25, before: end))
                    return showPage(mutex, until: end)
                }
            }
        ),
        Scenario(
            "compute-then-lock",
            [.lock],
            ["fetchShared"],
            "computing for a quarter of the time, then a lock",
            making: {
                let mutex = ThreadMutex()
                return { end in
                    try mutex.lockOnThread(named: "holder", until: end)
                    return preparePage(mutex, until: share(0.25, before: end))
                }
            }
        ),
        Scenario(
            "lock-then-compute-shortly",
            [.lock],
            ["fetchShared"],
            "a lock, then computing for a quarter of the time",
            making: {
                let mutex = ThreadMutex()
                return { end in
                    try mutex.lockOnThread(named: "holder", until: share(0.75, before: end))
                    return showPage(mutex, until: end)
                }
            }
        ),
        Scenario("two-functions", [.cpu], ["compressImage"], "two functions compute one after another, the second for longer") {
            importImage(until: $0)
        },
        Scenario("poll-loop", [.syscall], ["pollDevice"], "short sleeps with a little computing between them") {
            pollDevice(until: $0)
        },
    ]

    /// The time at which a part of the remaining time until `end` has passed.
    private static func share(_ part: Double, before end: MonotonicTime) -> MonotonicTime {
        let now = MonotonicTime.now
        return now + (end - now) * part
    }
}

@inline(never)
func fetchShared(_ mutex: ThreadMutex) -> Int {
    pthread_mutex_lock(mutex.raw)
    pthread_mutex_unlock(mutex.raw)
    return 1
}

@inline(never)
func layOutPage(until end: MonotonicTime) -> Int {
    var width = 1
    while MonotonicTime.now < end {
        for index in 0..<2_000 { width = (width &* 37) ^ index }
    }
    return width
}

@inline(never)
func showPage(_ mutex: ThreadMutex, until end: MonotonicTime) -> Int { fetchShared(mutex) &+ layOutPage(until: end) }

@inline(never)
func preparePage(_ mutex: ThreadMutex, until end: MonotonicTime) -> Int { layOutPage(until: end) &+ fetchShared(mutex) }

@inline(never)
func decodeImage(until end: MonotonicTime) -> Int {
    var pixel = 1
    while MonotonicTime.now < end {
        for index in 0..<2_000 { pixel = (pixel &* 41) ^ index }
    }
    return pixel
}

@inline(never)
func compressImage(until end: MonotonicTime) -> Int {
    var bits = 1
    while MonotonicTime.now < end {
        for index in 0..<2_000 { bits = (bits &* 43) ^ index }
    }
    return bits
}

@inline(never)
func importImage(until end: MonotonicTime) -> Int {
    let now = MonotonicTime.now
    return decodeImage(until: now + (end - now) * 0.35) &+ compressImage(until: end)
}

@inline(never)
func pollDevice(until end: MonotonicTime) -> Int {
    var state = 1
    while MonotonicTime.now < end {
        usleep(20_000)
        for index in 0..<500_000 { state = (state &* 47) ^ index }
    }
    return state
}
