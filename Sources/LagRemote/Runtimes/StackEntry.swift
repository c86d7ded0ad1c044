internal import LagCapture

/// A frame of a stack.
enum StackEntry: Sendable {
    case native(NativeFrame)
    case language(LanguageFrame)
}

/// A frame of machine code, as it was unwound.
struct NativeFrame: Sendable {
    var frame: FrameBuffer.Frame
    /// At its call of the next one: the function's stack data is between this and the next frame's. 0: not known.
    var stackPointer: UInt64
    /// The value of the frame pointer register in the frame. 0: not known.
    var framePointer: UInt64 = 0

    /// An address within the call instead of after it.
    var address: UInt64 { frame.pc &- (frame.isReturnAddress ? 1 : 0) }
}
