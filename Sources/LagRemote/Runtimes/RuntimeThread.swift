/// A thread in one capture.
struct RuntimeThread: Sendable {
    let tid: Int32
    /// Its thread ID in the process's own namespace: in a container it differs.
    let innerTid: Int32
    /// What ``LanguageRuntime/prepare(tid:innerTid:)`` found.
    let place: UInt64
    /// As captured; all zero if there are none.
    let registers: RuntimeRegisters
}

/// Registers that lead to frames. For a sleeping thread the frame pointer is not known.
struct RuntimeRegisters: Sendable {
    var programCounter: UInt64 = 0
    var stackPointer: UInt64 = 0
    var framePointer: UInt64?
    /// The callee-saved registers of x86-64, in which runtimes keep their position. For a sleeping thread they are not known.
    var r13: UInt64?
    var r14: UInt64?
    var r15: UInt64?
}
