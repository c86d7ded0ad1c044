internal import CLagLinux
internal import Glibc
internal import LagModel
internal import Synchronization

/// A thread that stays alive on its run loop and runs submitted work, until it is stopped.
///
/// ```swift
/// import LagMonitor
///
/// let worker = try KeepAliveThread(name: "worker", priority: .utility)
/// worker.perform { writeIndex() }
/// worker.stop()      // from anywhere, also from its own work
/// worker.join()
/// ```
/// When idle, it sleeps in the kernel without using CPU time: an otherwise unused port keeps its loop running. It uses no
/// descriptor unless its loop watches one. When the last reference is released, it stops by itself; its work does not have to
/// hold it. Everything here is safe from any thread.
public final class KeepAliveThread: Sendable {
    /// Shared with the running thread, so that the thread does not hold its owner.
    private final class Control: Sendable {
        let started = Gate()
        let loop = PthreadMutex<ObservedRunLoop?>(nil)
        let niceValue = Atomic<Int32>(0)
    }

    /// The name given; the kernel shows its first 15 bytes.
    public let name: String
    /// The thread's run loop, running until ``stop()``.
    public let loop: ObservedRunLoop

    private let control: Control
    private let thread: SystemThread

    /// Starts the thread; returns when its loop can accept work.
    /// - Parameters:
    ///   - name: for people, records and the loop.
    ///   - priority: see ``ThreadPriority``.
    ///   - stackBytes: at least 64 KiB; 512 KiB by default. Only touched pages take memory.
    /// - Throws: ``RunLoopError``: a value out of range, or a thread that could not be created.
    public init(
        name: String,
        priority: ThreadPriority = .inherited,
        stackBytes: Int = 512 * 1024
    ) throws {
        guard stackBytes >= SystemThread.minimumStackBytes else {
            throw RunLoopError.invalidArgument(
                "stackBytes of thread '\(name)' is \(stackBytes); at least \(SystemThread.minimumStackBytes) is needed"
            )
        }
        if let nice = priority.niceValue, !(-20...19).contains(nice) {
            throw RunLoopError.invalidArgument("the nice value of thread '\(name)' is \(nice); allowed is -20 to 19")
        }
        let control = Control()
        thread = try SystemThread.start(name: name, stackBytes: stackBytes) {
            KeepAliveThread.body(name: name, priority: priority, control: control)
        }
        control.started.wait()
        guard let loop = control.loop.withLock({ $0 }) else { preconditionFailure("the thread started without a loop") }
        self.name = name
        self.loop = loop
        self.control = control
    }

    deinit { stop() }

    /// The thread's actual nice value; it differs from the requested one if raising the priority was not allowed.
    public var niceValue: Int32 { control.niceValue.load(ordering: .acquiring) }

    /// Whether the loop has ended; the thread is gone or is about to end.
    public var isFinished: Bool { loop.isFinished }

    /// Runs `work` on the thread, after the work submitted before; see ``ObservedRunLoop/perform(modes:_:)``.
    @discardableResult
    public func perform(_ work: @escaping @Sendable () -> Void) -> Bool { loop.perform(work) }

    /// Runs `work` on the thread and waits for its value; see ``ObservedRunLoop/performAndWait(modes:_:)``.
    @discardableResult
    public func performAndWait<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
        try loop.performAndWait(work)
    }

    /// Ends the thread after the callout in progress, also from inside that callout and however deep its runs are nested. Work
    /// that has not begun is dropped; a thread that waits for it gets ``RunLoopError/loopFinished(name:)``. Returns at once;
    /// stopping twice is allowed.
    public func stop() { loop.stopPermanently() }

    /// Ends the calling thread if it is a keep-alive thread: ``stop()`` for work that holds no reference to it.
    public static func stopCurrent() { ObservedRunLoop.existing?.stopPermanently() }

    /// Waits until the thread has ended and everything it held is released.
    /// - Returns: false when called on the thread itself, which cannot wait for its own end.
    @discardableResult
    public func join() -> Bool { thread.join() }

    private static func body(name: String, priority: ThreadPriority, control: Control) {
        if let nice = priority.niceValue { _ = cll_thread_set_nice(nice) }
        control.niceValue.store(cll_thread_nice(), ordering: .releasing)
        let loop = ObservedRunLoop.make(name: name)
        loop.add(RunLoopPort(), to: .common)
        control.loop.withLock { $0 = loop }
        control.started.open()
        // A `stop()` of the loop ends only a run call; only `stop()` of the thread ends the thread.
        while !loop.isEnding.load(ordering: .acquiring) { loop.run() }
        control.loop.withLock { $0 = nil }
    }
}
