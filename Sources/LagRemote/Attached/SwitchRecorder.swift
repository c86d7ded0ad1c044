internal import CLagRemote
internal import Glibc
internal import Synchronization

/// Has the kernel record when a thread leaves and gets its processor, and comes by its wait (clr_switches.h).
///
/// The ring is made when it is wanted, and kept until ``close()``. Where the kernel gives none, nothing is recorded, and samples are all
/// that is known.
/// The watchdog's thread alone.
struct SwitchRecorder: ~Copyable {
    private let tid: Int32
    private var switches = clr_switches()
    private var isOpen = false
    private var hasFailed = false
    private(set) var isRecording = false
    /// What was recorded since the last sample so far; nil: recording has begun since.
    private var next: SwitchTrace?
    /// More than a ring was switched between two samples: recording that is not worth what it costs the thread.
    private var isOverrun = false

    /// A ring each: 12 KB that the kernel does not page out, of 516 KB a processor that it gives to one user.
    private static let mostOpen = 64
    private static let open = Atomic<Int>(0)
    /// More than a ring holds.
    private static let mostRecords = 1024

    init(tid: Int32) { self.tid = tid }

    deinit {
        guard isOpen else { return }
        var switches = switches
        clr_switches_close(&switches)
        Self.open.subtract(1, ordering: .relaxed)
    }

    /// Gives the ring back: also an event that is off costs a thread that is switched often. Some µs.
    mutating func close() {
        guard isOpen else { return }
        clr_switches_close(&switches)
        Self.open.subtract(1, ordering: .relaxed)
        (isOpen, isRecording, next) = (false, false, nil)
    }

    /// Records switches from now on, or not any more. Some µs, and some ten for the first time.
    mutating func record(_ wanted: Bool) {
        guard wanted != isRecording, !wanted || !isOverrun && prepare() else { return }
        if wanted { clr_switches_discard(&switches) }
        clr_switches_set(&switches, wanted ? 1 : 0)
        isRecording = wanted
        next = nil
    }

    /// The thread rests: what it did before says nothing of how often it will be switched.
    mutating func forgetOverrun() { isOverrun = false }

    /// Has a counter leave a stamp each time it counts. Whether it will.
    mutating func stamp(_ counter: Int32) -> Bool { prepare() && clr_switches_take(&switches, counter) != 0 }

    /// Counters that were given a ring begin to leave their stamps.
    mutating func beginStamps() { if isOpen, !isRecording { clr_switches_discard(&switches) } }

    /// Takes what was recorded since the last call: 20 ns each, of which there are some hundred at most.
    /// - Parameters:
    ///   - sampled: when the thread was sampled, at the earliest.
    ///   - until: when at the latest. What is younger stays for the next call.
    ///   - wasAsleep: whether the sample before found it asleep.
    ///   - isAsleep: whether this one did.
    ///   - place: where the loop waits.
    mutating func take(
        sampled: UInt64,
        until: UInt64,
        wasAsleep: Bool,
        isAsleep: Bool,
        stamps: SwitchTrace.Stamps,
        of place: RestPlace
    ) -> SwitchTrace? {
        guard isOpen, isRecording || stamps != .none else { return nil }
        let isComplete = isRecording && next != nil
        var trace = isComplete ? next! : SwitchTrace(wasAsleep: wasAsleep)
        trace.end(sampled: sampled, isRecorded: isComplete, stamps: stamps)
        // What came after the sample, or may have, is the next one's as well.
        var late: SwitchTrace?
        let isFull = clr_switches_is_full(&switches) != 0
        var found = clr_switch()
        var count = 0
        while count < Self.mostRecords, clr_switches_next(&switches, until, &found) != 0 {
            count += 1
            guard let event = SwitchTrace.Event(found, of: place) else { continue }
            let isLate = trace.isLate(event, at: found.time_ns)
            if isLate, late == nil { late = SwitchTrace(wasAsleep: trace.isAsleep, since: trace.asleepSince) }
            trace.record(event, at: found.time_ns)
            if isLate { late!.record(event, at: found.time_ns) }
        }
        next = late
        // Where it is not known from before, the sample says whether it is asleep.
        if late == nil {
            next = SwitchTrace(wasAsleep: isComplete ? trace.isAsleep : isAsleep, since: isComplete ? trace.asleepSince : nil)
        }
        if isFull || count == Self.mostRecords { stop(&trace) }
        if !isRecording { next = nil }
        return trace
    }

    /// What is left is older than the next trace.
    private mutating func stop(_ trace: inout SwitchTrace) {
        trace.recordFull()
        clr_switches_discard(&switches)
        next = nil
        guard isRecording else { return }
        record(false)
        isOverrun = true
    }

    private mutating func prepare() -> Bool {
        if isOpen || hasFailed { return isOpen }
        var error: Int32 = 0
        if Self.open.add(1, ordering: .relaxed).newValue > Self.mostOpen {
            error = EMFILE
        } else {
            error = clr_switches_open(tid, &switches)
        }
        guard error == 0 else {
            Self.open.subtract(1, ordering: .relaxed)
            // Of all others there may be enough later.
            hasFailed = error == EPERM || error == EACCES || error == ENOSYS
            return false
        }
        isOpen = true
        return true
    }
}
