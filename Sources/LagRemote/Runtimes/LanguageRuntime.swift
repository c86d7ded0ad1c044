internal import LagCapture

/// A language's runtime that was recognised in a process: it finds the language's frames in a copy of a thread's memory, and names them.
///
/// What it reads is written by another process: every address, length and offset is a claim. A reader bounds each walk and each read, adds with
/// `&+` or saturating, and answers nil rather than something that may be wrong.
///
/// To add one: a folder here with a type that conforms, whose ``RuntimeRecognition`` is in ``LanguageFrames/recognisers``.
protocol LanguageRuntime: AnyObject, Sendable {
    /// Modules (indices into the ``ModuleMap``) that are the runtime itself: native frames of theirs are never the program's own.
    var modules: Set<Int> { get }

    /// Whether it is still there when modules came or went: all of its own are. The watchdog.
    func stays(in image: ProcessImage) -> Bool

    /// Whether frames have to be copied while the thread cannot change them. A runtime whose frames follow from native addresses needs none.
    var copiesFrames: Bool { get }

    /// Before the thread is held: finds what the copying needs, such as the runtime's structure for the thread. The watchdog; some 10 µs.
    /// - Returns: for ``RuntimeThread/place``; nil: the runtime does not know the thread, and neither ``copy(_:_:)`` is called nor
    ///   ``merge(_:_:_:)`` gets a copy.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64?

    /// Copies what the frames are found in, while the thread cannot go on. On the watchdog or on the tracer, perhaps while ``name(_:)`` runs: no state of its own.
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy)

    /// Where the stack ends that the thread is on, while it cannot go on and before its stack is copied; nil: not known. The tracer. One or two reads.
    func stackEnd(of thread: RuntimeThread, _ memory: MemoryCopy) -> UInt64?

    /// Whether it was collecting garbage in the thread, by what was copied. The watchdog.
    func isCollecting(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool

    /// The task that the thread runs, by what was copied. The watchdog.
    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask?

    /// The calls of ``CallChain``, all of them; nil: not known, or they nest on the C stack. Of a thread that sleeps.
    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [UInt64]?

    /// Puts the language's frames in the place of the runtime's, in order; the rest stays. The watchdog.
    /// - Parameters:
    ///   - memory: what was copied, with the thread's stack; nil: nothing was.
    ///   - stack: leaf first; frames of other runtimes may be in it.
    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry]

    /// The runtime's own lock, if that is what a thread waits for which sleeps in a futex at this address; its owner by the number that the process
    /// itself has for it. The watchdog; bounded.
    func lock(waitedForAt futex: UInt64) -> RuntimeLock?

    /// The name of a frame that ``merge(_:_:_:)`` gave. The reporter, some time later: what is at ``LanguageFrame/code`` may be something else by
    /// now, which ``LanguageFrame/check`` is for. Asked for once for each frame.
    func name(_ frame: LanguageFrame) -> LanguageFrameName?
}

extension LanguageRuntime {
    func stays(in image: ProcessImage) -> Bool { !modules.isEmpty && modules.isSubset(of: image.modules.lazy.map(\.index)) }

    func stackEnd(of thread: RuntimeThread, _ memory: MemoryCopy) -> UInt64? { nil }

    func isCollecting(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool { false }

    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask? { nil }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [UInt64]? { nil }

    func lock(waitedForAt futex: UInt64) -> RuntimeLock? { nil }
}

/// A thread in one capture.
struct RuntimeThread: Sendable {
    let tid: Int32
    /// The number that the process itself knows it by: in a container another one.
    let innerTid: Int32
    /// What ``LanguageRuntime/prepare(tid:innerTid:)`` found.
    let place: UInt64
    /// As the capture took them; all zero where there are none.
    let registers: RuntimeRegisters
}

/// Registers that lead to frames. Of a thread that sleeps the frame pointer is not known.
struct RuntimeRegisters: Sendable {
    var programCounter: UInt64 = 0
    var stackPointer: UInt64 = 0
    var framePointer: UInt64?
    /// Those of x86-64's that functions of C leave as they were, and runtimes use for where they are. Of a thread that sleeps they are not known.
    var r13: UInt64?
    var r14: UInt64?
    var r15: UInt64?
}

/// A frame of a stack.
enum StackEntry: Sendable {
    case native(NativeFrame)
    case language(LanguageFrame)
}

/// A frame of machine code, as it was unwound.
struct NativeFrame: Sendable {
    var frame: FrameBuffer.Frame
    /// At its call of the next one: what the function keeps on the stack lies between this and the next frame's. 0: not known.
    var stackPointer: UInt64
    /// What the frame pointer's register has in the frame. 0: not known.
    var framePointer: UInt64 = 0

    /// An address in the call rather than behind it.
    var address: UInt64 { frame.pc &- (frame.isReturnAddress ? 1 : 0) }
}

/// A frame of a language, without its name.
struct LanguageFrame: Sendable, Hashable {
    /// Where the runtime has the function.
    let code: UInt64
    /// A hash of what is there, so that another function at the same place is not taken for it; 0: there is nothing to compare.
    var check: UInt64 = 0
    /// Where in the function it is, as the runtime counts.
    var position: UInt64 = 0
    /// The address that the record shows.
    let pc: UInt64
    /// Whether it is the runtime's own function, though in the language.
    var isRuntime = false
    /// Whether the runtime says that nothing of the program has called it.
    var isOutermost = false
}

/// What a process is found to run.
enum RuntimeRecognition {
    case absent
    case found(any LanguageRuntime)
    /// It is there, and this version of it is not known: `python 3.15`.
    case unknown(String)
}
