package import CLibunwind
internal import Glibc
internal import LagModel

/// Space for the frames of one stack, leaf first. Memory that is allocated in advance; not for two threads at once.
package final class FrameBuffer {
    /// If the stack has more frames than there is space, this many of the stored ones are the outermost: those between are left
    /// out.
    package static let outerFrames = Int(CLU_OUTER_FRAMES)

    let raw: UnsafeMutablePointer<clu_frame>
    package let capacity: Int
    /// For each frame, until they are replaced; nil: not kept.
    let stackPointers: UnsafeMutablePointer<UInt64>?
    /// The value of the frame pointer's register in each frame; nil: not kept.
    let framePointers: UnsafeMutablePointer<UInt64>?

    /// - Parameter withStackPointers: whether walks keep the stack pointer of each frame.
    package init(capacity: Int, withStackPointers: Bool = false) {
        self.capacity = capacity
        stackPointers = withStackPointers ? .allocate(capacity: capacity) : nil
        stackPointers?.initialize(repeating: 0, count: capacity)
        framePointers = withStackPointers ? .allocate(capacity: capacity) : nil
        framePointers?.initialize(repeating: 0, count: capacity)
        raw = .allocate(capacity: capacity)
        raw.initialize(repeating: clu_frame(), count: capacity)
    }

    deinit {
        raw.deallocate()
        stackPointers?.deallocate()
        framePointers?.deallocate()
    }

    /// The stack pointer in a frame of the last walk, at its call of the next one; 0: not known.
    package func stackPointer(of index: Int) -> UInt64 {
        precondition(index >= 0 && index < capacity, "frame \(index) of a buffer for \(capacity)")
        return stackPointers?[index] ?? 0
    }

    /// What the frame pointer's register has in a frame of the last walk; 0: not known.
    package func framePointer(of index: Int) -> UInt64 {
        precondition(index >= 0 && index < capacity, "frame \(index) of a buffer for \(capacity)")
        return framePointers?[index] ?? 0
    }

    /// Whether some of the first frames belong to a language, so that the stack pointers are not theirs.
    package func hasLanguages(in count: Int) -> Bool {
        for index in 0..<min(count, capacity) where raw[index].language != 0 { return true }
        return false
    }

    /// A frame as it was captured.
    package struct Frame: Sendable, Equatable {
        /// The program counter: for the leaf the next instruction, for a caller the return address.
        package private(set) var pc: UInt64
        /// Index into the ``ModuleMap``; nil if the address is in no module.
        package private(set) var module: Int?
        /// Whether ``pc`` is a return address, so that the call is before it.
        package let isReturnAddress: Bool
        /// Whether this is a signal handler's trampoline.
        package let isSignalFrame: Bool
        /// Whether this is a suspended caller, not on any stack: ``pc`` is where it continues.
        package let isAsync: Bool
        /// The start of its function; ``pc`` if that is not known, or was not requested.
        package private(set) var functionStart: UInt64
        /// The number of a frame that a ``LanguageFrameSource`` knows; 0: a native one.
        package let language: UInt32
        /// Whether the code belongs to a language's runtime, and so not to the program, wherever it is.
        package var isRuntime = false
        /// Whether the code has no unwind information, such as code generated at run time.
        package let isWithoutTables: Bool

        /// A frame of a language, at the address that its runtime gives for it.
        package init(language: UInt32, pc: UInt64) {
            self.language = language
            self.pc = pc
            (module, isReturnAddress, isSignalFrame, isAsync, isWithoutTables, functionStart) = (
                nil, false, false, false, false, pc
            )
        }

        /// The same frame, in the module that has the original of the copied code.
        package func moved(to module: Int, pc: UInt64) -> Frame {
            var frame = self
            (frame.module, frame.pc, frame.functionStart) = (module, pc, pc)
            return frame
        }

        /// The same function at another instruction.
        package func at(_ pc: UInt64) -> Frame {
            var frame = self
            frame.pc = pc
            return frame
        }

        package init(_ frame: clu_frame) {
            pc = frame.pc
            language = frame.language
            module = frame.module < 0 ? nil : Int(frame.module)
            isReturnAddress = Int32(frame.flags) & Int32(CLU_FRAME_RETURN_ADDRESS) != 0
            isSignalFrame = Int32(frame.flags) & Int32(CLU_FRAME_SIGNAL) != 0
            functionStart = frame.pc &- UInt64(frame.function_distance)
            isRuntime = Int32(frame.flags) & Int32(CLU_FRAME_RUNTIME) != 0
            isWithoutTables = Int32(frame.flags) & Int32(CLU_FRAME_WITHOUT_TABLES) != 0
            isAsync = Int32(frame.flags) & Int32(CLU_FRAME_ASYNC) != 0
        }
    }

    package subscript(index: Int) -> Frame {
        precondition(index >= 0 && index < capacity, "frame \(index) of a buffer for \(capacity)")
        return Frame(raw[index])
    }

    /// Stores the start of a frame's function.
    func setFunctionStart(_ start: UInt64, at index: Int) {
        raw[index].function_distance = UInt32(exactly: raw[index].pc.saturatingDifference(start)) ?? 0
    }

    /// Replaces the content by these frames, as far as they fit.
    /// - Returns: their number.
    package func replace(by frames: [Frame]) -> Int {
        let count = min(frames.count, capacity)
        for index in 0..<count {
            let frame = frames[index]
            raw[index].pc = frame.pc
            raw[index].module = frame.module.flatMap(Int16.init(exactly:)) ?? -1
            raw[index].flags = UInt16(
                (frame.isReturnAddress ? CLU_FRAME_RETURN_ADDRESS : 0) | (frame.isSignalFrame ? CLU_FRAME_SIGNAL : 0)
                    | (frame.isRuntime ? CLU_FRAME_RUNTIME : 0)
            )
            raw[index].language = frame.language
            raw[index].function_distance = 0
        }
        return count
    }

    /// Copies the first frames to other memory, at most `count`. Allocates nothing.
    /// - Returns: their number.
    package func copy(_ count: Int, to frames: UnsafeMutablePointer<clu_frame>) -> Int {
        let count = min(count, capacity)
        frames.update(from: raw, count: count)
        return count
    }
}

/// Walks snapshots by libunwind's remote interface. Owned by one thread.
final class Unwinder {
    /// The maximum number of frames visited. A runaway recursion has more; the record then reports that.
    static let frameLimit: UInt32 = 4096

    private let raw: OpaquePointer

    init?() {
        guard let raw = clu_unwinder_create() else { return nil }
        self.raw = raw
    }

    deinit { clu_unwinder_destroy(raw) }

    /// Call it when modules were added or removed: libunwind caches unwind tables by address.
    func forget() { clu_unwinder_forget(raw) }

    /// The start of a function of the last walk's frames; the program counter if the unwind tables do not have it.
    func function(of frame: FrameBuffer.Frame, modules: ModuleMap) -> UInt64 {
        var table = modules.table
        let start = clu_unwinder_function(raw, &table, frame.pc - (frame.isReturnAddress ? 1 : 0))
        return start > 0 ? start : frame.pc
    }

    /// Appends the suspended callers of a task's running function to the existing frames.
    /// - Returns: their number.
    func asyncCallers(_ blocks: UnsafeBufferPointer<UInt64>, modules: ModuleMap, into frames: FrameBuffer, from first: Int) -> Int
    {
        var table = modules.table
        guard first < frames.capacity else { return 0 }
        let room = UInt32(frames.capacity - first)
        return Int(
            clu_async_callers(raw, &table, modules.process, blocks.baseAddress, UInt32(blocks.count), frames.raw + first, room)
        )
    }

    func walk(_ snapshot: Snapshot, modules: ModuleMap, into frames: FrameBuffer) -> clu_unwind_result {
        var table = modules.table
        var result = clu_unwind_result()
        clu_unwinder_store_pointers(raw, frames.stackPointers, frames.framePointers)
        clu_unwinder_walk(
            raw,
            snapshot.raw,
            &table,
            modules.process,
            frames.raw,
            UInt32(frames.capacity),
            Self.frameLimit,
            &result
        )
        return result
    }
}
