internal import ArgumentParser

/// The conditions under which stalls are injected. Each runs in a separate process.
enum Condition: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    /// Only the stalls.
    case calm
    /// 10,000 short callbacks a second on the same loop.
    case busy
    /// Four spinning processes per processor, at the target's priority.
    case starved
    /// The whole target is stopped (SIGSTOP) and continued at random times.
    case stopped
    /// The wall clock is set forward and back by minutes.
    case stepped

    /// Whether the required accuracy of 1 ms for durations applies.
    var promisesDurations: Bool { self == .calm || self == .busy }
}
