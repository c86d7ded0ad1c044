/// The layout of the stacks of Ruby's virtual machine, by version. It exports no such table; every structure must refer back to
/// the one that led to it, otherwise it is not used.
///
/// Source: `vm_core.h`, `ractor_core.h`, `thread_pthread.h`, `cont.c`, `iseq.h`, `iseq.c` and `include/ruby/internal/core/rstring.h` of the version's tag, for x86-64; compared with the memory of
/// Debian's 3.1.2.
struct RubyLayout: Sendable {
    /// Of every release of this version.
    let version: String
    /// `rb_vm_t`: the main thread.
    let mainThread: UInt64
    /// `rb_thread_t`: the ractor, the machine, the execution context, the kernel's number, and what it has for the lock: where it is linked to those
    /// that wait, and the condition that it waits for.
    let threadRactor, threadMachine, threadContext, threadNumber, threadLink, threadCondition: UInt64
    /// `rb_ractor_t`: its threads' lock, `rb_global_vm_lock_t`.
    let ractorLock: UInt64
    /// `rb_execution_context_t`: its stack, how many words that has, the innermost frame, and the thread.
    let contextStack, contextWords, contextFrame, contextThread: UInt64
    /// Its fiber, and in `rb_fiber_t`: the context, the fiber that has resumed it, and the one that it has resumed.
    let contextFiber, fiberContext, fiberPrevious, fiberResumed: UInt64
    /// `rb_control_frame_t`, and where it has the program counter, the stack pointer, the instruction sequence and the environment.
    let frameBytes, frameCounter, frameStackPointer, frameSequence, frameEnvironment: UInt64
    /// `rb_iseq_t`: the body; and in that the instructions, how many, the path, the name, the lines, how many, and their index.
    let sequenceBody: UInt64
    let bodyCode, bodyCount, bodyPath, bodyLabel, bodyLines, bodyLineCount, bodyLineIndex: UInt64
    /// What is read of a body.
    let bodyBytes: Int
    /// One entry of the lines, which begins with the line and the number of its node in the syntax tree.
    let lineBytes: UInt64

    static let known = [
        RubyLayout(
            version: "3.1",
            mainThread: 40,
            threadRactor: 24,
            threadMachine: 32,
            threadContext: 40,
            threadNumber: 88,
            threadLink: 104,
            threadCondition: 120,
            ractorLock: 336,
            contextStack: 0,
            contextWords: 8,
            contextFrame: 16,
            contextThread: 48,
            contextFiber: 40,
            fiberContext: 80,
            fiberPrevious: 512,
            fiberResumed: 520,
            frameBytes: 64,
            frameCounter: 0,
            frameStackPointer: 8,
            frameSequence: 16,
            frameEnvironment: 32,
            sequenceBody: 16,
            bodyCode: 8,
            bodyCount: 4,
            bodyPath: 64,
            bodyLabel: 80,
            bodyLines: 120,
            bodyLineCount: 136,
            bodyLineIndex: 144,
            bodyBytes: 152,
            lineBytes: 12
        )
    ]
}
