/// How a walk of the stack ended.
package enum UnwindEnd: Int32, Sendable {
    /// The thread's first frame was reached.
    case complete = 0
    /// There are more frames than are visited.
    case limit = 1
    /// The next frame is in no module, or in one without unwind tables.
    case noUnwindInfo = 2
    /// The next frame is not valid.
    case badFrame = 3
}
