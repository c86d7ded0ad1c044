internal import CLagLinux
internal import Glibc
public import LagActivity
internal import LagModel
internal import Synchronization

/// A run loop of one thread: it waits for events, calls what is due, and publishes what it does to its beacon.
///
/// Each thread has at most one, created by the thread's first ``current``; it ends with the thread. The main thread's loop can be
/// reached from everywhere as ``main``. Only its own thread may run it; adding, removing, submitting, signalling, waking and
/// stopping are safe from any thread.
///
/// Cost. A turn without changes takes no lock and allocates nothing. A wake from another thread is one atomic operation, plus a
/// system call only if the loop is asleep. A loop without descriptors needs no descriptor of its own.
public final class ObservedRunLoop: PingableLoop, TickingLoop, Sendable {
    /// The loop's current activity. Any thread.
    public let beacon = ActivityBeacon()
    /// The thread that it belongs to.
    public let thread: ThreadIdentity
    public let name: String

    let isMain: Bool
    let signals = LoopSignals()
    let registry = PthreadMutex(ModeRegistry())
    let performs = PthreadMutex(SubmittedWork())
    let runs = PthreadMutex(RunStack())
    /// Set when the thread is to end: no callout begins any more.
    let isEnding = Atomic<Bool>(false)
    // Unsafe only for the compiler: only the loop's own thread reaches it. Every path to it begins in a public call that checks
    // `isCurrent`, or at the thread's end.
    nonisolated(unsafe) let own: LoopThreadState

    private init(name: String, thread: ThreadIdentity, isMain: Bool) {
        self.name = name
        self.thread = thread
        self.isMain = isMain
        own = LoopThreadState(signals: signals)
    }

    /// The calling thread's loop. The first call creates it; later calls are one access to thread-local storage.
    public static var current: ObservedRunLoop {
        existing ?? make(name: nil)
    }

    /// The main thread's loop, from any thread.
    public static let main = ObservedRunLoop(name: "main", thread: .main, isMain: true)

    /// The calling thread's loop, if it runs; does not create one.
    public static var running: ObservedRunLoop? {
        let loop = existing ?? (pthread_self() == cll_main_pthread() ? main : nil)
        return loop?.currentMode == nil ? nil : loop
    }

    /// The calling thread's loop, if it has one.
    static var existing: ObservedRunLoop? {
        guard let raw = cll_thread_loop() else { return nil }
        return Unmanaged<ObservedRunLoop>.fromOpaque(raw).takeUnretainedValue()
    }

    /// Creates the calling thread's loop. Requires that it has none yet.
    static func make(name: String?) -> ObservedRunLoop {
        if pthread_self() == cll_main_pthread() {
            // The main thread's loop lives as long as the process.
            cll_thread_set_loop(Unmanaged.passUnretained(main).toOpaque(), nil)
            return main
        }
        let loop = ObservedRunLoop(name: name ?? threadName(), thread: .current, isMain: false)
        cll_thread_set_loop(Unmanaged.passRetained(loop).toOpaque()) { raw in
            guard let raw else { return }
            let loop = Unmanaged<ObservedRunLoop>.fromOpaque(raw).takeRetainedValue()
            loop.finish()
        }
        return loop
    }

    private static func threadName() -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { buffer in
            buffer.initialize(repeating: 0)
            guard cll_thread_name(pthread_self(), buffer.baseAddress, 16) == 0 else { return "thread \(cll_gettid())" }
            return String(cString: buffer.baseAddress!)
        }
    }

    /// Whether the calling thread owns this loop.
    public var isCurrent: Bool {
        if let raw = cll_thread_loop() { return raw == Unmanaged.passUnretained(self).toOpaque() }
        return isMain && pthread_self() == cll_main_pthread()
    }

    /// The mode in which the loop runs; nil while it does not run. Any thread.
    public var currentMode: RunLoopMode? {
        let number = beacon.mode
        return number == 0 ? nil : RunLoopMode(number: number)
    }

    /// Whether it sleeps, waiting for events. Any thread; the result may be out of date when it is used.
    public var isWaiting: Bool { beacon.activity == .waiting }

    /// Whether it ended with its thread. Any thread.
    public var isFinished: Bool { beacon.activity == .finished }

    public func modeName(_ number: UInt32) -> String? { ModeNames.name(of: number) }

    /// Ends the sleep of the loop, or prevents its next one: it makes at least one more turn. Any thread.
    public func wakeUp() { signals.wakeUp() }
}

extension ObservedRunLoop: CustomStringConvertible {
    public var description: String { "run loop '\(name)' (thread \(thread.tid), \(beacon.activity.name))" }
}
