/// In which step of a turn of the loop a stall is injected.
enum Place: String, CaseIterable, Sendable, Codable {
    /// A timer of the loop: the observers of the semaphore watchdog saw `afterWaiting` last.
    case timer
    /// Work submitted from another thread: `afterWaiting`.
    case perform
    /// A manual source: `beforeSources`.
    case source
    /// A block of the main dispatch queue: `afterWaiting`.
    case mainQueue = "main_queue"
    /// An observer of `beforeWaiting`, where user interfaces lay out and draw: still work, but the rule of the
    /// seeds counts that activity as sleep.
    case beforeWaiting = "before_waiting"
}
