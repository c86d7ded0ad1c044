internal import CLagLinux
internal import CLagRemote
internal import Glibc

/// Finds out whether a loop that was seen at work goes around, for as long as that is in doubt.
///
/// By a counter at the loop's wait where the kernel gives one (clr_wait_counter.h): the thread notices nothing. Otherwise by holding
/// the thread at its system calls, for as few of them as possible (clr_iteration_check.h). The watchdog's thread alone.
struct IterationProbe: ~Copyable {
    /// What was found since it began.
    enum Outcome: Equatable {
        case nothing
        /// It came by its wait, then or earlier; nil: at a time that is not known.
        case iteration(UInt64?)
        /// It makes so many system calls that it was let go before it came by.
        case tooManyCalls
        /// It could not be held.
        case refused
    }

    private let process: Int32
    private let tid: Int32
    private var counter: (descriptor: Int32, address: UInt64)?
    private var counted: UInt64 = 0
    private var isCounting = false
    private var isStamped = false
    private var pollsSinceBegin = 0
    /// The kernel gives none.
    private var hasNoCounter: Bool
    /// It had none to give at that time.
    private var isShort = false
    private var check: OpaquePointer?
    /// The last hold ended after so many calls that the next one would as well.
    private(set) var makesManyCalls = false

    /// - Parameter mayCount: false: the thread is held, also where there are counters.
    init(process: Int32, tid: Int32, mayCount: Bool) {
        self.process = process
        self.tid = tid
        hasNoCounter = !mayCount
    }

    deinit {
        if let counter { Glibc.close(counter.descriptor) }
        if let check {
            var seen: UInt64 = 0
            _ = clr_iteration_check_end(check, &seen)
        }
    }

    /// Whether it costs the thread next to nothing.
    var isLight: Bool { !hasNoCounter }

    /// Whether it would see the loop go around.
    var isWatching: Bool { isCounting || check != nil }

    /// Which passes have left a stamp in the recorder's ring since the last poll.
    var stamps: SwitchTrace.Stamps { !isCounting || !isStamped ? .none : pollsSinceBegin > 0 ? .all : .some }

    /// From now on. Some µs, and 50 once, or where the thread has to be held.
    mutating func begin(at place: RestPlace, _ recorder: inout SwitchRecorder) {
        if hasNoCounter {
            if check == nil { check = clr_iteration_check_begin(process, tid, place.call ?? -1, place.stackPointer) }
            return
        }
        // Without one the thread is held from now on: not at once, for that takes one that may be held (``IterationDetector``).
        guard prepareCounter(place.programCounter, &recorder), !isCounting, let counter else { return }
        isCounting = true
        pollsSinceBegin = 0
        recorder.beginStamps()
        counted = cll_breakpoint_count(counter.descriptor)
        cll_breakpoint_set(counter.descriptor, 1)
    }

    /// What has come of it. A thread that was held is not any more.
    mutating func poll() -> Outcome {
        if isCounting, let counter {
            let count = cll_breakpoint_count(counter.descriptor)
            defer { counted = count }
            pollsSinceBegin += 1
            return count == counted ? .nothing : .iteration(nil)
        }
        guard let ended = check else { return .nothing }
        check = nil
        var seen: UInt64 = 0
        let result = clr_iteration_check_end(ended, &seen)
        makesManyCalls = result == Int32(CLR_ITERATION_EXHAUSTED)
        switch result {
        case Int32(CLR_ITERATION_SEEN): return .iteration(seen)
        case Int32(CLR_ITERATION_EXHAUSTED): return .tooManyCalls
        case Int32(CLR_ITERATION_REFUSED): return .refused
        default: return .nothing
        }
    }

    /// There is no doubt any more.
    mutating func end() {
        guard isCounting, let counter else { return }
        isCounting = false
        cll_breakpoint_set(counter.descriptor, 0)
    }

    /// Gives the counter back: also one that is off costs a thread that is switched often. Some µs.
    mutating func close() {
        end()
        if let counter { Glibc.close(counter.descriptor) }
        counter = nil
        if isShort { (isShort, hasNoCounter) = (false, false) }
    }

    /// One for this place.
    private mutating func prepareCounter(_ address: UInt64, _ recorder: inout SwitchRecorder) -> Bool {
        if let counter {
            if counter.address == address { return true }
            Glibc.close(counter.descriptor)
            self.counter = nil
            isCounting = false
        }
        let descriptor = clr_wait_counter_open(tid, address)
        guard descriptor >= 0 else {
            hasNoCounter = true
            isShort = descriptor == -EMFILE || descriptor == -ENFILE || descriptor == -ENOMEM || descriptor == -ENOSPC
            return false
        }
        counter = (descriptor, address)
        isStamped = recorder.stamp(descriptor)
        return true
    }
}
