internal import CLagLinux
package import LagActivity
package import LagModel

/// The result of a request to a running thread.
package enum RunningThreadAnswer {
    case taken
    /// The thread has not had a processor yet. When it gets one, it answers before it continues.
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

    /// - Parameter code: `CLL_SIGNAL_…`, the result of both ways of sending a signal.
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
    /// It can only be sampled in its own code.
    case ownCodeAlone
}

/// Captures the registers and the stack of a running thread in an existing snapshot. One request at a time.
///
/// Only for the watchdog; every wait is bounded.
package protocol RunningThreadCapture: SendableMetatype {
    /// - Parameter languages: copies more while a thread of another process is held; nil: nothing more is copied.
    init(snapshot: Snapshot, languages: (any LanguageCapture)?) throws(CaptureUnavailable)

    var method: CaptureMethod { get }
    var snapshot: Snapshot { get }

    /// A sleeping thread had its stack pointer there.
    func sawAsleep(_ target: ThreadIdentity, at stackPointer: UInt64)
    /// The stall in which the thread was captured is over.
    func forgetStall(of tid: Int32)
    /// Sends a request to the thread, and waits up to this time for its answer.
    func take(_ target: ThreadIdentity, state: ThreadState, within nanoseconds: UInt64) -> RunningThreadAnswer
    /// Captures them by a perf_event sample (cll_perf_sample.h) while the thread runs: the thread does nothing for it, and none
    /// of its system calls is interrupted.
    /// - Returns: where the thread was; nil: no sample was taken.
    func takeSample(_ target: ThreadIdentity, within nanoseconds: UInt64) -> SampledPlace?
    /// Whether samples are preferred; otherwise they are used for threads that cannot be signalled.
    var prefersSample: Bool { get }
    /// Whether the last request was answered.
    var hasAnswer: Bool { get }
    /// Ends the last request.
    /// - Returns: whether the answer has arrived after all.
    func withdraw() -> Bool
    /// Ends the last request, if it was this object's: before its memory is freed.
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
