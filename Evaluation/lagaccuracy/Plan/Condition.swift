internal import ArgumentParser

/// The conditions under which stalls are injected; each is a run of a separate process.
enum Condition: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    /// Nothing but the stalls.
    case calm
    /// 10,000 short callbacks a second on the same loop.
    case busy
    /// Four spinning processes a processor, at the target's own priority.
    case starved
    /// The whole target is stopped (SIGSTOP) and continued at random times.
    case stopped
    /// The wall clock is set forward and back by minutes.
    case stepped

    /// Whether the target of 1 ms for durations applies to it.
    var promisesDurations: Bool { self == .calm || self == .busy }
}
