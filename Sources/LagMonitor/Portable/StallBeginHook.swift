/// What a program adds to a stall's record when the stall is recognised: how many jobs wait, how many requests are in flight.
///
/// ```swift
/// import LagMonitor
///
/// var configuration = StallMonitorConfiguration()
/// configuration.onStallBegin = StallBeginHook { stall in
///     ["jobs_waiting": "\(queue.count)"]
/// }
/// ```
/// It runs on a thread of its own, never on the stalled one, some milliseconds after the stall reached its threshold. It may take
/// a lock that the stalled thread holds; then only its fields are lost. It runs for one stall at a time: a stall that is
/// recognised meanwhile gets no fields.
public struct StallBeginHook: Sendable, Equatable {
    /// What is known at that moment.
    public struct Stall: Sendable {
        /// The loop's name.
        public let loop: String
        /// The kernel's id of the stalled thread.
        public let threadID: Int32
        /// How long it has stalled so far.
        public let duration: Duration

        package init(loop: String, threadID: Int32, duration: Duration) {
            self.loop = loop
            self.threadID = threadID
            self.duration = duration
        }
    }

    /// Two values are equal if one is a copy of the other.
    private final class Body: Sendable {
        let value: @Sendable (Stall) -> [String: String]

        init(_ value: @escaping @Sendable (Stall) -> [String: String]) { self.value = value }
    }

    /// At most this many fields are kept, in the order of their names.
    public static let fieldCapacity = 16

    /// How long a record waits for it.
    public let deadline: Duration
    private let body: Body

    /// - Parameters:
    ///   - deadline: the record leaves out an answer that takes longer. At most a second.
    ///   - body: returns names and values; at most ``fieldCapacity`` are kept, with 64 bytes of each.
    public init(within deadline: Duration = .milliseconds(50), _ body: @escaping @Sendable (Stall) -> [String: String]) {
        self.deadline = min(max(deadline, .zero), .seconds(1))
        self.body = Body(body)
    }

    package func run(_ stall: Stall) -> [String: String] { body.value(stall) }

    public static func == (left: StallBeginHook, right: StallBeginHook) -> Bool {
        left.body === right.body && left.deadline == right.deadline
    }
}
