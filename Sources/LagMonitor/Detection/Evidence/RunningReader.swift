internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture

/// Reads what a thread of this process runs: its task and its context. Buffers that exist before they are needed.
///
/// Threads: the watchdog's alone.
final class RunningReader {
    /// What was last read.
    let task = UnsafeMutablePointer<cll_task>.allocate(capacity: 1)
    let context = UnsafeMutablePointer<clb_context_copy>.allocate(capacity: 1)
    private let nested = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: Int(CLL_TASK_NESTED))
    private let blocks = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: Int(CLL_TASK_CONTEXTS))
    private var layout: cll_task_layout

    /// Contexts that are looked at in detail for one stall: a system call or two each.
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

    /// On the watchdog's thread: what lies at another distance from this thread than from the one that learned it is not used.
    func confirm() { if clb_context_place() != layout.running { layout.running = 0 } }

    /// Whether the thread runs a task.
    var hasTask: Bool { task.pointee.address != 0 }

    /// - Returns: false when that is not known, or the thread kept going from one to the next.
    func read(_ thread: JobThread) -> Bool { thread.read(layout, &task.pointee) }

    /// Whether the thread is in a synchronous context, in the task that made it.
    var isSynchronous: Bool { task.pointee.running_token != 0 && task.pointee.running_task == task.pointee.address }

    /// Finds the context that the thread is in, by what was read of it.
    ///
    /// A synchronous context counts in the task that made it alone: within it another task may be run, by a loop that is run within a callback.
    /// - Returns: false when there is none, or it is not certain which.
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

    /// Visits the open contexts of a thread, or of a pool's threads, but the one that runs and those around it.
    /// - Returns: where the one that runs has no trace, that of the nearest around it.
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

    /// Whether that is one of the contexts that the task is in, which may be those of the tasks that made it.
    private func isNested(_ token: UInt64, of count: Int) -> Bool {
        var index = 0
        while index < count {
            if nested[index] == token { return true }
            index += 1
        }
        return false
    }

    /// Whether that one is the same work's, around the one that runs.
    private func isAround(_ own: clb_context_copy, _ opener: UInt64, _ task: UInt64, _ opened: UInt64) -> Bool {
        task == own.context.task && (task != 0 || opener == own.context.thread) && opened <= own.context.opened_ns
    }

    /// Whether a thread is one of the pools', or gone: tasks stay, and the pools' threads come and go. All pools are one here, for a task changes to another when
    /// its priority is raised by whoever awaits it.
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

    /// What the names of libdispatch's threads for its root queues end in, as they are cut: `user-initiated-qos`.
    private static let poolSuffix = Array("-qos".utf8)
}
