internal import CLagLinux
package import LagActivity
package import LagModel

/// What became of a request to a running thread.
package enum RunningThreadAnswer {
    case taken
    /// The thread got no processor yet. It answers when it does, before it goes on.
    case pending
    case failed(CaptureFailure)

    /// Whether no signal may be sent to the thread; not whether it failed to answer one.
    var cannotBeAsked: Bool {
        switch self {
        case .failed(.signalsBlocked), .failed(.noFreeSignal), .failed(.stackNearlyFull), .failed(.stackUnknown),
            .failed(.threadKeptMoving):
            true
        default: false
        }
    }

    /// - Parameter code: `CLL_SIGNAL_…`, as both ways of asking answer.
    package init(_ code: Int32) {
        self =
            switch Int(code) {
            case Int(CLL_SIGNAL_TAKEN): .taken
            case Int(CLL_SIGNAL_PENDING): .pending
            case Int(CLL_SIGNAL_TIMED_OUT): .failed(.signalTimedOut)
            case Int(CLL_SIGNAL_NO_THREAD): .failed(.threadGone)
            case Int(CLL_SIGNAL_BUSY): .failed(.signalBusy)
            default: .failed(.notPermitted)
            }
    }
}

/// Where a sample found a thread: `CLL_PERF_…`.
package enum SampledPlace: Int32 {
    case ownCode, kernel
    /// It can be found nowhere else.
    case ownCodeAlone
}

/// Takes the registers and the stack of a thread that runs, into a snapshot that exists already. One request at a time.
///
/// For the watchdog alone; every wait is bounded.
package protocol RunningThreadCapture: SendableMetatype {
    /// - Parameter languages: copies more while a thread of another process is held; nil: nothing more is copied.
    init(snapshot: Snapshot, languages: (any LanguageCapture)?) throws(CaptureUnavailable)

    var method: CaptureMethod { get }
    var snapshot: Snapshot { get }

    /// A thread that slept had its stack pointer there.
    func sawAsleep(_ target: ThreadIdentity, at stackPointer: UInt64)
    /// The stall that the thread was captured in is over.
    func forgetStall(of tid: Int32)
    /// Asks the thread, and waits so long for its answer.
    func take(_ target: ThreadIdentity, state: ThreadState, within nanoseconds: UInt64) -> RunningThreadAnswer
    /// Takes them by a sample of perf_event (cll_perf_sample.h), while the thread runs: it does nothing for it, and no system call of it is cut short.
    /// - Returns: where the thread was; nil: they were not taken.
    func takeSample(_ target: ThreadIdentity, within nanoseconds: UInt64) -> SampledPlace?
    /// Whether that comes first; otherwise it is for threads that cannot be asked.
    var prefersSample: Bool { get }
    /// Whether the last request was answered.
    var hasAnswer: Bool { get }
    /// Ends the last request.
    /// - Returns: whether the answer came after all.
    func withdraw() -> Bool
    /// Ends the last request, if it was this object's: before its memory goes.
    func forget()
}

extension RunningThreadCapture {
    package func sawAsleep(_ target: ThreadIdentity, at stackPointer: UInt64) {}
    package func forgetStall(of tid: Int32) {}

    package func takeSample(_ target: ThreadIdentity, within nanoseconds: UInt64) -> SampledPlace? {
        var place: Int32 = 0
        guard cll_perf_sample(target.tid, target.stackLow, target.stackHigh, snapshot.raw, nanoseconds, &place) == 0 else {
            return nil
        }
        return SampledPlace(rawValue: place)
    }
}
