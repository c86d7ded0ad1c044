internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import Synchronization

/// Passes the answers of a table's loops on, each to the watchdog of its own process.
///
/// All loops post to one semaphore in the table; the time of its last answer shows which beacon it was. Nothing here waits for
/// anything else: a late answer would look as if the watchdog, and so perhaps the machine, had been stopped.
// Unchecked: the slots are in a Mutex; the rest is immutable or atomic.
final class SharedLoopTableRelay: @unchecked Sendable {
    private struct Place {
        let loop: RemoteLoop
        let semaphore: WakeSemaphore
        var answered: UInt64
    }

    private let table: SharedLoopTable
    /// Whether loops were added or removed.
    private let notify: @Sendable () -> Void
    private let places = Mutex<[UInt32: Place]>([:])
    private let probe: LivenessProbe
    private let stopping = Atomic<Bool>(false)

    init(table: SharedLoopTable, probe: LivenessProbe, notify: @escaping @Sendable () -> Void) {
        self.table = table
        self.probe = probe
        self.notify = notify
    }

    /// From now on the answers of the loop at this slot are relayed. Any thread.
    func pass(_ loop: RemoteLoop, to semaphore: WakeSemaphore, at index: UInt32) {
        let answered = clb_beacon_answered_ns(loop.beacon.raw)
        places.withLock { $0[index] = Place(loop: loop, semaphore: semaphore, answered: answered) }
        // It may have answered before.
        semaphore.post()
    }

    /// Any thread.
    func forget(_ index: UInt32) { places.withLock { $0[index] = nil } }

    func stop() {
        stopping.store(true, ordering: .releasing)
        table.wake()
    }

    static func sleep(until nanoseconds: UInt64) {
        var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    /// The thread's body.
    func run() {
        var claims: UInt64 = 0
        var pace = RelayPace()
        while !stopping.load(ordering: .acquiring) {
            let begun = clb_now_ns()
            _ = table.drain()
            let call = probe.present
            var answers = 0
            let isWatching = places.withLock { places in
                for index in places.keys {
                    let answered = clb_beacon_answered_ns(places[index]!.loop.beacon.raw)
                    guard answered != places[index]!.answered else { continue }
                    places[index]!.answered = answered
                    places[index]!.semaphore.post(answeredAt: answered)
                    answers += 1
                }
                return !places.isEmpty
            }
            let present = table.claims
            if present != claims {
                claims = present
                notify()
            }
            probe.answer(call, by: .relay)
            pace.recordRound(begun, foundAnswers: answers > 0)
            let wasWoken = table.wait(until: pace.deadline(isWatching: isWatching, at: clb_now_ns()))
            pace.recordWake(wasWoken)
            if let pause = pace.pause(at: clb_now_ns()), !stopping.load(ordering: .acquiring) { Self.sleep(until: pause) }
        }
    }
}
