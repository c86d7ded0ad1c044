internal import CLagRemote
internal import Glibc
internal import Synchronization

/// Makes the kernel record when a thread leaves and gets its processor, and passes its wait (clr_switches.h).
///
/// The ring is created on demand, and kept until ``close()``. If the kernel refuses it, nothing is recorded, and only samples are
/// available.
/// Only for the watchdog's thread.
struct SwitchRecorder: ~Copyable {
    private let tid: Int32
    private var switches = clr_switches()
    private var isOpen = false
    private var hasFailed = false
    private(set) var isRecording = false
    /// The trace since the last sample so far; nil: recording has begun since.
    private var next: SwitchTrace?
    /// There were more switches between two samples than a ring holds: recording is not worth its cost for the thread.
    private var isOverrun = false

    /// One ring each: 12 KB of locked memory, of the 516 KB per processor that the kernel grants one user.
    private static let mostOpen = 64
    private static let open = Atomic<Int>(0)
    /// More than the capacity of a ring.
    private static let mostRecords = 1024

    init(tid: Int32) { self.tid = tid }

    deinit {
        guard isOpen else { return }
        var switches = switches
        clr_switches_close(&switches)
        Self.open.subtract(1, ordering: .relaxed)
    }

    /// Releases the ring, because even a disabled event costs a thread that is switched often. Takes some µs.
    mutating func close() {
        guard isOpen else { return }
        clr_switches_close(&switches)
        Self.open.subtract(1, ordering: .relaxed)
        (isOpen, isRecording, next) = (false, false, nil)
    }

    /// Starts or stops recording switches. Takes some µs, and some ten the first time.
    mutating func record(_ wanted: Bool) {
        guard wanted != isRecording, !wanted || !isOverrun && prepare() else { return }
        if wanted { clr_switches_discard(&switches) }
        clr_switches_set(&switches, wanted ? 1 : 0)
        isRecording = wanted
        next = nil
    }

    /// The thread rests: its earlier work does not predict how often it will be switched.
    mutating func forgetOverrun() { isOverrun = false }

    /// Makes a counter record a timestamp each time it counts. Returns whether it will.
    mutating func stamp(_ counter: Int32) -> Bool { prepare() && clr_switches_take(&switches, counter) != 0 }

    /// Counters with a ring begin to record timestamps.
    mutating func beginStamps() { if isOpen, !isRecording { clr_switches_discard(&switches) } }

    /// Takes the records since the last call: 20 ns each, at most some hundred.
    /// - Parameters:
    ///   - sampled: the earliest time of the sample.
    ///   - until: the latest time of the sample. Later records stay for the next call.
    ///   - wasAsleep: whether the previous sample found it asleep.
    ///   - isAsleep: whether this sample did.
    ///   - place: the loop's waiting place.
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
        // Records that are, or may be, after the sample also belong to the next one.
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
        // If it is not known from before, the sample shows whether it is asleep.
        if late == nil {
            next = SwitchTrace(wasAsleep: isComplete ? trace.isAsleep : isAsleep, since: isComplete ? trace.asleepSince : nil)
        }
        if isFull || count == Self.mostRecords { stop(&trace) }
        if !isRecording { next = nil }
        return trace
    }

    /// Remaining records are older than the next trace.
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
            // For all other errors, there may be enough resources later.
            hasFailed = error == EPERM || error == EACCES || error == ENOSYS
            return false
        }
        isOpen = true
        return true
    }
}
