/// A thread's share of the processor compared with others: a nice value, which on Linux belongs to the thread.
///
/// Lowering it is always allowed. Raising it above the creator's priority needs `CAP_SYS_NICE` or a resource limit
/// (`RLIMIT_NICE`); without them the thread runs at its creator's priority, which ``KeepAliveThread/niceValue`` returns.
public struct ThreadPriority: Sendable, Hashable {
    /// −20 (first) to 19 (last); nil keeps the creator's.
    public let niceValue: Int32?

    /// - Parameter niceValue: −20 (first) to 19 (last). ``KeepAliveThread`` refuses others.
    public init(niceValue: Int32) { self.niceValue = niceValue }

    private init() { niceValue = nil }

    /// The creator's priority.
    public static let inherited = ThreadPriority()
    /// Work that a user is waiting for right now: −10.
    public static let userInteractive = ThreadPriority(niceValue: -10)
    /// Work that a user has requested: −5.
    public static let userInitiated = ThreadPriority(niceValue: -5)
    /// Work without urgency: 5.
    public static let utility = ThreadPriority(niceValue: 5)
    /// Work that no user waits for: 15.
    public static let background = ThreadPriority(niceValue: 15)
}
