/// The step of a loop iteration in which a stall is injected.
enum Place: String, CaseIterable, Sendable, Codable {
    /// A timer of the loop. The last activity that observers saw before is `afterWaiting`.
    case timer
    /// Work submitted from another thread: `afterWaiting`.
    case perform
    /// A manual source: `beforeSources`.
    case source
    /// A block of the main dispatch queue: `afterWaiting`.
    case mainQueue = "main_queue"
    /// An observer of `beforeWaiting`, where user interfaces lay out and draw. This is work, but the rule of the
    /// observer-and-semaphore watchdog counts this activity as sleep.
    case beforeWaiting = "before_waiting"
}
