internal import CLagLinux
internal import CLagRemote
internal import Glibc

/// Finds out whether a loop that was seen at work iterates, while that is in doubt.
///
/// Uses a counter at the loop's wait if the kernel provides one (clr_wait_counter.h): the thread notices nothing. Otherwise it
/// stops the thread at as few of its system calls as possible (clr_iteration_check.h). Only for the watchdog's thread.
struct IterationProbe: ~Copyable {
    /// The result since it began.
    enum Outcome: Equatable {
        case nothing
        /// It passed its wait, at this time or earlier; nil: at an unknown time.
        case iteration(UInt64?)
        /// It makes so many system calls that it was released before it passed its wait.
        case tooManyCalls
        /// It was not stopped: not permitted, or there was no processor for that.
        case refused
    }

    private let process: Int32
    private let tid: Int32
    private var counter: (descriptor: Int32, address: UInt64)?
    private var counted: UInt64 = 0
    private var isCounting = false
    private var isStamped = false
    private var pollsSinceBegin = 0
    /// The kernel does not provide counters.
    private var hasNoCounter: Bool
    /// No counter was free at that time.
    private var isShort = false
    private var check: OpaquePointer?
    /// The last check ended after too many calls; the next one would as well.
    private(set) var makesManyCalls = false

    /// - Parameter mayCount: false: the thread is stopped, even if counters are available.
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

    /// Whether it costs the thread almost nothing.
    var isLight: Bool { !hasNoCounter }

    /// Whether it would see an iteration of the loop.
    var isWatching: Bool { isCounting || check != nil }

    /// Which passes have left a timestamp in the recorder's ring since the last poll.
    var stamps: SwitchTrace.Stamps { !isCounting || !isStamped ? .none : pollsSinceBegin > 0 ? .all : .some }

    /// Starts it. Takes some µs, and 50 once, or if the thread must be stopped.
    /// - Returns: whether it watches only from now on.
    mutating func begin(at place: RestPlace, _ recorder: inout SwitchRecorder) -> Bool {
        if hasNoCounter {
            guard check == nil else { return false }
            check = clr_iteration_check_begin(process, tid, place.call ?? -1, place.stackPointer)
            return true
        }
        // Without a counter the thread is stopped from now on, but not at once, because it must first be permitted
        // (``IterationDetector``).
        guard prepareCounter(place.programCounter, &recorder), !isCounting, let counter else { return !isCounting }
        isCounting = true
        pollsSinceBegin = 0
        recorder.beginStamps()
        counted = cll_breakpoint_count(counter.descriptor)
        cll_breakpoint_set(counter.descriptor, 1)
        return true
    }

    /// The result. A thread that was traced is released.
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

    /// Ends it: there is no more doubt.
    mutating func end() {
        guard isCounting, let counter else { return }
        isCounting = false
        cll_breakpoint_set(counter.descriptor, 0)
    }

    /// Releases the counter, because even a disabled one costs a thread that is switched often. Takes some µs.
    mutating func close() {
        end()
        if let counter { Glibc.close(counter.descriptor) }
        counter = nil
        if isShort { (isShort, hasNoCounter) = (false, false) }
    }

    /// A counter for this place.
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
