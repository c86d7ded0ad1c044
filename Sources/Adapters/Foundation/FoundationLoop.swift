internal import CoreFoundation
public import Foundation
public import LagActivity

/// A Foundation `RunLoop` as something to watch: of the main thread, or of any other.
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
/// It adds two real `CFRunLoopObserver`s to the loop, one called before all others and one after them, in the common modes and in
/// every mode that there is by then. They go with this object; the monitor holds it while it watches. Nothing else of the loop
/// changes: an observer keeps no run from ending.
///
/// What is seen. CFRunLoop tells of phases, not of callbacks: all timers, the main queue's blocks, ports and descriptors of one
/// turn stand in `after_waiting`, all manual sources (source0) of one turn in `before_sources`, and so does all that is served
/// after them without a wait; performed blocks come at the end of either. What other observers of `beforeTimers` and `exit` do
/// counts to the phase before. Callbacks that are short by themselves count together within a phase: the loop did not come round
/// meanwhile. Under `RunLoop.run()` and `run(mode:before:)`, a turn performs one manual source at most.
///
/// Rests. A wait for events is one, however short. After a handled manual source CFRunLoop does not wait but looks at everything
/// it has and goes on, without a word to its observers; that look counts as a rest too, as does the time between two runs.
/// Everybody had his turn there, so a loop that handles one short callback after the other is not starved, however long it does so.
///
/// Runs inside callbacks are watched like any other; after them the outer phase goes on as a new stretch of work. A run in a mode
/// that is not common, and that nothing was added to before this object was made, is not seen, and the callback that runs it seems
/// to stand still: name such modes.
///
/// Under `dispatchMain()` and in an asynchronous `@main` the main thread runs no run loop; there is nothing to see then.
///
/// Cost: about 100 ns for each activity that it listens to, most of it CFRunLoop's own way to an observer: one a turn while manual
/// sources keep coming, four for a turn with a wait, and two more for each run. No lock of its own, no memory, no system call.
/// (`loop_turn_foundation` of the benchmark.)
public final class FoundationLoop: ObservableLoop {
    public let beacon: ActivityBeacon

    let publisher: LoopActivityPublisher
    let attachment: Attachment

    /// Attaches to a loop. Any thread.
    ///
    /// Foundation gives another thread's loop away to that thread alone. So this asks the loop to take the observers itself, by a
    /// timer that fires at once, and waits at most a quarter of a second for it. A loop that does not run meanwhile takes them when
    /// it next does; watched before that, its stalls have no stack. There is no such wait for the main loop and the calling thread's.
    /// - Parameters:
    ///   - runLoop: `RunLoop.main`, `RunLoop.current`, or another.
    ///   - modes: further modes to watch, besides the common ones and those that the loop knows already.
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

    /// The loop's thread; id 0 as long as the loop has not told it.
    public var thread: ThreadIdentity { publisher.loopThread.details.thread }

    /// `main`, or the thread's name, or its id.
    public var name: String { publisher.loopThread.details.name }

    /// Whether the loop ended with its thread. Any thread.
    public var isFinished: Bool { beacon.activity == .finished }

    public func modeName(_ number: UInt32) -> String? { publisher.modes.name(of: number) }

    /// How long the first question waits for its answer. A loop that waits for events answers within microseconds.
    private static let threadTimeout: Duration = .milliseconds(250)
}
