internal import LagCapture

/// A language runtime that was recognised in a process: it finds the language's frames in a copy of a thread's memory, and names
/// them.
///
/// Another process has written what it reads: every address, length and offset is a claim. A reader bounds each walk and each
/// read, adds with `&+` or saturating, and returns nil rather than a result that may be wrong.
///
/// To add one: a folder here with a type that conforms, whose ``RuntimeRecognition`` is in ``LanguageFrames/recognisers``.
protocol LanguageRuntime: AnyObject, Sendable {
    /// Modules (indices into the ``ModuleMap``) of the runtime itself: their native frames are never the program's own.
    var modules: Set<Int> { get }

    /// Whether it still exists after modules were loaded or unloaded: all of its own modules do. The watchdog.
    func stays(in image: ProcessImage) -> Bool

    /// Whether frames must be copied while the thread is stopped. A runtime whose frames follow from native addresses does not
    /// need that.
    var copiesFrames: Bool { get }

    /// Before the thread is stopped: finds what the copying needs, such as the runtime's structure for the thread. The watchdog;
    /// some 10 µs.
    /// - Returns: the value for ``RuntimeThread/place``; nil: the runtime does not know the thread, so ``copy(_:_:)`` is not
    ///   called, and ``merge(_:_:_:)`` gets no copy.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64?

    /// The same value, for a thread of which only the calls are read.
    func place(tid: Int32, innerTid: Int32) -> UInt64?

    /// Copies the data of the frames while the thread is stopped. On the watchdog or the tracer, possibly while ``name(_:)``
    /// runs: it must have no state.
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy)

    /// The end of the thread's current stack, while it is stopped and before its stack is copied; nil: not known. The tracer. One
    /// or two reads.
    func stackEnd(of thread: RuntimeThread, _ memory: MemoryCopy) -> UInt64?

    /// Whether it was collecting garbage in the thread, by the copy. The watchdog.
    func isCollecting(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool

    /// The task that the thread runs, by the copy. The watchdog.
    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask?

    /// All calls for ``CallChain``; nil: not known, or they nest on the C stack. For a sleeping thread.
    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]?

    /// Whether the innermost loop around the wait, in the code of all calls, contains the present call. False: the code does not
    /// show it; nil: it cannot be read now. Half a millisecond at most.
    func isInLoop(_ branch: CallChain.Branch) -> Bool?

    /// Replaces the runtime's frames by the language's, in order; the rest stays. The watchdog.
    /// - Parameters:
    ///   - memory: the copy, with the thread's stack; nil: none.
    ///   - stack: leaf first; it may contain frames of other runtimes.
    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry]

    /// The runtime's own lock, if a thread that sleeps in a futex at this address waits for it; its owner by the thread ID in the
    /// process's own namespace. The watchdog; bounded.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock?

    /// The name of a frame from ``merge(_:_:_:)``. The reporter, some time later: the memory at ``LanguageFrame/code`` may have
    /// changed by then, which ``LanguageFrame/check`` detects. Called once for each frame.
    func name(_ frame: LanguageFrame) -> LanguageFrameName?
}

extension LanguageRuntime {
    func stays(in image: ProcessImage) -> Bool { !modules.isEmpty && modules.isSubset(of: image.modules.lazy.map(\.index)) }

    func place(tid: Int32, innerTid: Int32) -> UInt64? { prepare(tid: tid, innerTid: innerTid) }

    func stackEnd(of thread: RuntimeThread, _ memory: MemoryCopy) -> UInt64? { nil }

    func isCollecting(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool { false }

    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask? { nil }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]? { nil }

    func isInLoop(_ branch: CallChain.Branch) -> Bool? { false }

    func lock(waitedForAt futex: UInt64) -> RuntimeLock? { nil }
}
