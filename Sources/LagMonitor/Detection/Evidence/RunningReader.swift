internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture

/// Reads what a thread of this process runs: its task and its context. Its buffers are allocated in advance.
///
/// Threads: only the watchdog's.
final class RunningReader {
    /// The last reading.
    let task = UnsafeMutablePointer<cll_task>.allocate(capacity: 1)
    let context = UnsafeMutablePointer<clb_context_copy>.allocate(capacity: 1)
    private let nested = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: Int(CLL_TASK_NESTED))
    private let blocks = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: Int(CLL_TASK_CONTEXTS))
    private var layout: cll_task_layout

    /// How many contexts are examined in detail for one stall: a system call or two each.
    private static let detailedContexts = 256

    init(layout: cll_task_layout) {
        self.layout = layout
        task.initialize(to: cll_task())
        context.initialize(to: clb_context_copy())
        nested.initialize(repeating: 0)
        blocks.initialize(repeating: 0)
    }

    deinit {
        task.deallocate()
        context.deallocate()
        nested.deallocate()
        blocks.deallocate()
    }

    /// On the watchdog's thread: an offset that differs between this thread and the one that learned it is not used.
    func confirm() { if clb_context_place() != layout.running { layout.running = 0 } }

    /// Whether the thread runs a task.
    var hasTask: Bool { task.pointee.address != 0 }

    /// - Returns: false if it is not known, or the thread kept switching from one to the next.
    func read(_ thread: JobThread) -> Bool { thread.read(layout, &task.pointee) }

    /// Whether the thread is in a synchronous context, in the task that created it.
    var isSynchronous: Bool { task.pointee.running_token != 0 && task.pointee.running_task == task.pointee.address }

    /// Finds the thread's context, from what was read.
    ///
    /// A synchronous context counts only in the task that created it: within it, another task may run, in a loop that is run
    /// within a callback.
    /// - Returns: false if there is none, or it is not certain which.
    func findContext() -> Bool {
        guard layout.running != 0 else { return false }
        if isSynchronous { return clb_context_read(task.pointee.running_token, context) != 0 }
        guard hasTask, task.pointee.has_locals != 0, task.pointee.local != 0 else { return false }
        return clb_context_read(task.pointee.local, context) != 0
    }

    /// The suspended callers of what the task runs.
    func addAsyncCallers(to frames: FrameBuffer, from first: Int, _ capture: ThreadCapture) -> Int {
        var layout = layout
        let count = cll_task_blocks(&layout, task, blocks.baseAddress, blocks.count)
        guard count > 0 else { return 0 }
        return capture.addAsyncCallers(UnsafeBufferPointer(rebasing: blocks[..<count]), to: frames, from: first)
    }

    /// Visits the open contexts of a thread, or of a pool's threads, except the running one and those around it.
    /// - Returns: if the running one has no trace, that of the nearest one around it.
    func forEachOpen(of thread: JobThread, isPool: Bool, _ visit: (UnsafePointer<clb_context_copy>) -> Void) -> InheritedTrace? {
        var own: clb_context_copy?
        if findContext() { own = context.pointee }
        var (layout, trace) = (layout, InheritedTrace())
        let count = cll_task_locals(&layout, task, nested.baseAddress, nested.count)
        var index: UInt32 = 0
        var detailed = 0
        let limit = clb_context_limit()
        while index < limit, detailed < Self.detailedContexts {
            var (opener, task, opened): (UInt64, UInt64, UInt64) = (0, 0, 0)
            let token = clb_context_at(index, &opener, &task, &opened)
            index += 1
            guard token != 0, token != own?.token else { continue }
            if let own, isAround(own, opener, task, opened) || isNested(token, of: count) {
                if clb_context_read(token, context) != 0 { trace.consider(context) }
                continue
            }
            if !thread.isThread(opener) {
                guard isPool, task != 0 else { continue }
                detailed += 1
                guard isOfPools(opener) else { continue }
            }
            if clb_context_read(token, context) != 0 { visit(context) }
        }
        guard let own, own.context.span == 0, trace.isCertain else { return nil }
        trace.token = own.token
        return trace
    }

    /// Whether that is one of the task's contexts, which may belong to the tasks that created it.
    private func isNested(_ token: UInt64, of count: Int) -> Bool {
        var index = 0
        while index < count {
            if nested[index] == token { return true }
            index += 1
        }
        return false
    }

    /// Whether that context belongs to the same work, around the running one.
    private func isAround(_ own: clb_context_copy, _ opener: UInt64, _ task: UInt64, _ opened: UInt64) -> Bool {
        task == own.context.task && (task != 0 || opener == own.context.thread) && opened <= own.context.opened_ns
    }

    /// Whether a thread is one of the pools', or gone: tasks stay, while the pools' threads are created and end. All pools count
    /// as one here, because a task moves to another when the task that awaits it raises its priority.
    private func isOfPools(_ descriptor: UInt64) -> Bool {
        let tid = cll_thread_of_descriptor(getpid(), descriptor)
        guard tid != 0 else { return true }
        var name = cll_name()
        cll_procfs_name(getpid(), tid, &name)
        return withUnsafeBytes(of: name.text) { name in
            var length = 0
            while length < name.count, name[length] != 0 { length += 1 }
            guard length >= Self.poolSuffix.count else { return false }
            var index = 0
            while index < Self.poolSuffix.count {
                if name[length - Self.poolSuffix.count + index] != Self.poolSuffix[index] { return false }
                index += 1
            }
            return true
        }
    }

    /// The end of the (truncated) names of libdispatch's threads for its root queues: `user-initiated-qos`.
    private static let poolSuffix = Array("-qos".utf8)
}
