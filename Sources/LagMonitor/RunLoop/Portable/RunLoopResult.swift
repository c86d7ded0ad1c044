/// Why a run call returned.
///
/// If several reasons apply at once, the first of this order wins: `handledSource`, `timedOut`, `stopped`, `finished`.
public enum RunLoopResult: Sendable, Hashable {
    /// The mode has nothing left that could ever wake the loop: no source, no timer, no submitted work.
    case finished
    /// ``ObservedRunLoop/stop()`` ended this call.
    case stopped
    /// The call's time is over.
    case timedOut
    /// A source was handled, and the call was to return after that.
    case handledSource
}

/// Errors of work that is submitted to a run loop.
public enum RunLoopError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The loop ended with its thread before the work ran; it will never run.
    case loopFinished(name: String)
    /// A thread could not be created: its name, and the reason as an `errno`.
    case threadNotCreated(name: String, errno: Int32)
    /// A value out of range: what it is, and what is allowed.
    case invalidArgument(String)

    public var description: String {
        switch self {
        case .loopFinished(let name):
            "the run loop '\(name)' ended with its thread before the work ran"
        case .threadNotCreated(let name, let errno):
            "the thread '\(name)' could not be created (errno \(errno))"
        case .invalidArgument(let reason): reason
        }
    }
}
