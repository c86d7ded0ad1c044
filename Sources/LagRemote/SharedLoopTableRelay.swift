internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
internal import Synchronization

/// Passes the answers of a table's loops on, each to the watchdog of its own process, except for short turns (``TurnFilter``).
///
/// All loops post to one semaphore in the table; the time of its last answer shows which beacon it was. Nothing here waits for
/// anything else: a late answer would look as if the watchdog, and so perhaps the machine, had been stopped.
// Unchecked: the slots are in a Mutex; the rest is immutable or atomic.
final class SharedLoopTableRelay: @unchecked Sendable {
    private struct Place {
        let loop: RemoteLoop
        let semaphore: WakeSemaphore
        var answered: UInt64
        var filter: TurnFilter

        /// Only while all loops of its process rest, as far as their watchdog knows: otherwise it may wait for this answer, which
        /// ends a stall. What may not be a loop, or waits for a set of descriptors, which may change each time, must be read at
        /// each rest.
        func mayFilter(at index: UInt32, in table: SharedLoopTable) -> Bool {
            semaphore.isParked && loop.isConfirmed && table.waitPlace(at: index).epoll != nil
        }
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
        let filter = TurnFilter(at: clb_now_ns())
        places.withLock { $0[index] = Place(loop: loop, semaphore: semaphore, answered: answered, filter: filter) }
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
            var (answers, due) = (0, UInt64.max)
            let isWatching = places.withLock { places in
                for index in places.keys {
                    if relay(&places[index]!, at: index, now: begun) { answers += 1 }
                    due = min(due, places[index]!.filter.dueNanoseconds)
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
            let check = pace.deadline(isWatching: isWatching, at: clb_now_ns())
            pace.recordWake(table.wait(until: min(check, due)) ? .post : due < check ? .appointment : .check)
            if let pause = pace.pause(at: clb_now_ns()), !stopping.load(ordering: .acquiring) { Self.sleep(until: pause) }
        }
    }

    /// - Returns: whether the loop has answered since the last round.
    private func relay(_ place: inout Place, at index: UInt32, now: UInt64) -> Bool {
        let beacon = place.loop.beacon.raw
        let answered = clb_beacon_answered_ns(beacon)
        let hasAnswered = answered != place.answered
        if hasAnswered {
            place.answered = answered
            let mayFilter = place.mayFilter(at: index, in: table)
            place.filter.recordAnswer(at: answered, now: now, mayFilter: mayFilter)
        }
        switch place.filter.step(at: now, rests: { Self.rests(beacon) }) {
        case .nothing: break
        // The relay itself has let the time pass until now.
        case .work: place.semaphore.post(answeredAt: hasAnswered ? answered : now)
        case .visit: place.semaphore.post()
        }
        return hasAnswered
    }

    /// Whether the loop rests now; if so, it answers when it wakes.
    private static func rests(_ beacon: UnsafeMutablePointer<clb_beacon>) -> Bool {
        let word = clb_beacon_word(beacon)
        guard UInt8(truncatingIfNeeded: word) == LoopActivity.waiting.rawValue else { return false }
        clb_beacon_rearm(beacon, UInt32(CLB_ARMED_ANY))
        return clb_beacon_word(beacon) == word
    }
}
