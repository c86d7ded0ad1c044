internal import CoreFoundation
public import Foundation
public import LagActivity

/// A Foundation `RunLoop` that can be watched: of the main thread, or of any other.
///
/// ```swift
/// import Foundation
/// import LagMonitor
/// import LagMonitorFoundation
///
/// let loop = FoundationLoop(RunLoop.main)
/// try monitor.watch(loop)
/// RunLoop.main.run()
/// ```
/// It adds two `CFRunLoopObserver`s to the loop, one called before all others and one after them, in the common modes and in
/// every mode that exists by then. They are removed with this object; the monitor holds it while it watches. Nothing else in the
/// loop changes: an observer does not keep a run from ending.
///
/// What is seen. CFRunLoop reports phases, not callbacks. All timers, the main queue's blocks, ports and descriptors of one turn
/// appear as `after_waiting`. All manual sources (source0) of one turn appear as `before_sources`, and so does everything that is
/// served after them without a wait. Performed blocks come at the end of either. The work of other observers of `beforeTimers`
/// and `exit` counts as part of the phase before. Short callbacks count together within a phase, because the loop did not begin a
/// new turn meanwhile. Under `RunLoop.run()` and `run(mode:before:)`, a turn performs at most one manual source.
///
/// Idle time. A wait for events counts as idle, however short. After a handled manual source, CFRunLoop does not wait: it checks
/// all its sources and continues, without notifying its observers. That check counts as idle too, and so does the time between
/// two runs. Every source had its turn there, so a loop that handles one short callback after the other is not starved, however
/// long it does so.
///
/// Runs inside callbacks are watched like any other; after them, the outer phase continues as a new stretch of work. A run in a
/// mode that is not common, and to which nothing was added before this object was created, is not seen, and the callback that
/// runs it appears as one long callback: name such modes.
///
/// Under `dispatchMain()` and in an asynchronous `@main`, the main thread runs no run loop, so nothing is seen.
///
/// Cost: about 100 ns for each activity that it observes, most of it CFRunLoop's own path to an observer: one a turn while manual
/// sources keep arriving, four for a turn with a wait, and two more for each run. No lock of its own, no allocation, no system
/// call. (`loop_turn_foundation` of the benchmark.)
public final class FoundationLoop: ObservableLoop {
    public let beacon: ActivityBeacon

    let publisher: LoopActivityPublisher
    let attachment: Attachment

    /// Attaches to a loop. Any thread.
    ///
    /// Foundation returns another thread's loop only on that thread. So this requests the loop to add the observers itself, by a
    /// timer that fires at once, and waits for it at most a quarter of a second. A loop that does not run meanwhile adds them
    /// when it next runs; until then its stalls have no stack. For the main loop and the calling thread's loop there is no such
    /// wait.
    /// - Parameters:
    ///   - runLoop: `RunLoop.main`, `RunLoop.current`, or another.
    ///   - modes: additional modes to watch, besides the common ones and those that the loop knows already.
    public init(_ runLoop: RunLoop, modes: [RunLoop.Mode] = []) {
        let isMain = runLoop === RunLoop.main
        let publisher = LoopActivityPublisher(isMain: isMain)
        let names = modes.map(\.rawValue)
        self.publisher = publisher
        attachment = Attachment(of: publisher, additionalModes: names)
        beacon = publisher.beacon
        if isMain {
            attachment.attach(to: CFRunLoopGetMain())
        } else if runLoop === RunLoop.current {
            publisher.recordThread()
            attachment.attach(to: CFRunLoopGetCurrent())
        } else {
            let timer = Timer(timeInterval: 0, repeats: false) { [attachment] _ in
                attachment.attachFromLoop()
            }
            for mode in [.common] + modes { runLoop.add(timer, forMode: mode) }
            publisher.loopThread.wait(atMost: Self.threadTimeout)
        }
    }

    deinit { attachment.detach() }

    /// The loop's thread; id 0 until the loop has run.
    public var thread: ThreadIdentity { publisher.loopThread.details.thread }

    /// `main`, or the thread's name, or its id.
    public var name: String { publisher.loopThread.details.name }

    /// Whether the loop ended with its thread. Any thread.
    public var isFinished: Bool { beacon.activity == .finished }

    public func modeName(_ number: UInt32) -> String? { publisher.modes.name(of: number) }

    /// How long the first request waits for its answer. A loop that waits for events answers within microseconds.
    private static let threadTimeout: Duration = .milliseconds(250)
}
