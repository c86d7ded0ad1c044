internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel

/// Copies the data of runtimes, for each way to capture a stack. Owned by the watchdog, except ``stopped``.
final class RuntimeCapture: LanguageCapture {
    private let source: LanguageFrames
    /// Copied while a thread is stopped.
    let stopped: StoppedCopy
    /// Copied from a sleeping thread, which is not delayed.
    private let sleeping: MemoryCopy
    private var thread: PreparedThread?
    private var isReady = false
    /// Whether the modules were checked once.
    private var hasLooked = false
    private let foundContext = UnsafeMutablePointer<clb_context_copy>.allocate(capacity: 1)
    private let foundTask = UnsafeMutablePointer<cll_task>.allocate(capacity: 1)
    private var (hasContext, hasTask) = (false, false)
    private(set) var isCollecting = false

    /// The thread is not affected; the sampling of the process's other loops waits meanwhile.
    private static let sleepingNanoseconds: UInt64 = 2_000_000

    /// Nil without memory: then all frames are native.
    init?(_ source: LanguageFrames, process: Int32) {
        guard let sleeping = MemoryCopy(process: process), let held = MemoryCopy(process: process) else { return nil }
        self.source = source
        self.sleeping = sleeping
        stopped = StoppedCopy(held)
        foundContext.initialize(to: clb_context_copy())
        foundTask.initialize(to: cll_task())
    }

    deinit {
        foundContext.deallocate()
        foundTask.deallocate()
    }

    var context: UnsafePointer<clb_context_copy>? { hasContext ? UnsafePointer(foundContext) : nil }

    var task: UnsafePointer<cll_task>? { hasTask ? UnsafePointer(foundTask) : nil }

    func forgetContext() { (hasContext, hasTask) = (false, false) }

    func prepare(_ identity: ThreadIdentity?, _ modules: ModuleMap, mayStop: Bool) -> Bool {
        thread = identity.flatMap { source.prepare($0, modules: modules) }
        hasLooked = true
        let copiesFrames = thread?.copiesFrames ?? false
        guard mayStop else { return copiesFrames }
        if copiesFrames, let thread, !isReady {
            isReady = true
            stopped.rehearse(thread)
        }
        stopped.prepare(copiesFrames ? thread : nil)
        return copiesFrames
    }

    func readRunning(_ identity: ThreadIdentity, _ modules: ModuleMap, isLikely: Bool) {
        forgetContext()
        guard isLikely || hasLooked else { return }
        hasLooked = true
        guard let thread = source.prepare(identity, modules: modules) else { return }
        sleeping.open(nil, within: Self.sleepingNanoseconds)
        defer { sleeping.close(nil) }
        hasContext = thread.findContext(sleeping, foundContext)
        var unknown = cll_snapshot()
        hasTask = thread.findTask(sleeping, of: &unknown, foundTask)
    }

    func copySleeping(_ snapshot: UnsafePointer<cll_snapshot>) {
        sleeping.open(snapshot, within: Self.sleepingNanoseconds)
        thread?.copy(sleeping, of: snapshot)
        sleeping.close(nil)
    }

    func merge(
        _ method: CaptureMethod,
        _ snapshot: UnsafePointer<cll_snapshot>,
        into frames: FrameBuffer,
        stored: Int
    ) -> (stored: Int, gained: Int, isWhole: Bool) {
        isCollecting = false
        // A late answer is that of a thread that was prepared before.
        let held = method == .ptrace ? stopped.taken : nil
        guard let thread = held ?? thread else { return (stored, 0, false) }
        let memory: MemoryCopy? =
            switch method {
            case .passive where thread.copiesFrames: sleeping
            case .ptrace where held != nil: stopped.memory
            default: nil
            }
        // The stack is part of what was copied.
        memory?.close(snapshot)
        defer { memory?.close(nil) }
        if let memory {
            hasContext = thread.findContext(memory, foundContext)
            hasTask = thread.findTask(memory, of: snapshot, foundTask)
            isCollecting = thread.isCollecting(memory)
        }
        return thread.merge(memory, snapshot, into: frames, stored: stored)
    }
}
