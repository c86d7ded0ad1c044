internal import LagCapture
internal import LagModel

/// V8 in node: the frames of JavaScript, by the constants that every build of node exports for post-mortem debuggers.
///
/// While a thread is stopped, only movable data is copied: the functions on its stack, which are often young objects. Their
/// targets (`SharedFunctionInfo`, code, scripts) are old and do not move; they are read afterwards, and compared with the copy.
final class V8Runtime: LanguageRuntime {
    /// From the last slot of an interpreted frame to its frame pointer.
    private static let slotBytes = 40

    let modules: Set<Int>
    let copiesFrames = true
    private let layout: V8Layout
    private let bytecodeSizes: [UInt8]
    private let memory: RemoteMemory
    private let module: Int
    private let stackStart: UInt64
    private let sources = V8Sources()
    /// Its builtins, the interpreter among them, near the code that it makes (`short_builtin_calls`): mapped once more for the program, and for each worker that has such code of its own.
    private let copies: PthreadMutex<[ModuleMap.CodeCopy]>

    private init(_ memory: RemoteMemory, _ module: ProcessImage.Module, _ layout: V8Layout, bytecodeSizes: [UInt8]) {
        self.memory = memory
        stackStart = Self.stackStart(of: memory.process)
        self.module = module.index
        modules = [module.index]
        copies = PthreadMutex(module.copies)
        self.layout = layout
        self.bytecodeSizes = bytecodeSizes
    }

    private enum Symbol {
        static let constants = "v8dbg_"
        static let major = "_ZN2v88internal7Version6major_E"
        static let minor = "_ZN2v88internal7Version6minor_E"
        static let bytecodeSizes = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
    }

    /// Three widths of at most 256 bytecodes.
    private static let maximumBytecodeSizes: UInt64 = 3 * 256

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        for (place, module) in image.modules.enumerated() {
            // Debian's node is a library.
            guard place == 0 || ["node", "v8", "electron"].contains(where: { module.name.contains($0) }) else { continue }
            guard let symbols = module.symbols, symbols.symbol(Symbol.constants + "HeapObjectTag") != nil else { continue }
            func number(_ name: String) -> UInt32? { symbols.symbol(name).flatMap { image.memory.load($0.address) } }
            guard let major = number(Symbol.major), let minor = number(Symbol.minor) else { return .unknown("v8") }
            guard let release = V8Release.known.first(where: { $0.major == major && $0.minor == minor }) else {
                return .unknown("v8 \(major).\(minor)")
            }
            do throws(V8Layout.Mismatch) {
                let layout = try V8Layout(release) { number(Symbol.constants + $0).map { Int32(bitPattern: $0) } }
                var sizes = release.bytecodeSizes?.table ?? []
                if let table = symbols.symbol(Symbol.bytecodeSizes), table.size % 3 == 0, table.size <= maximumBytecodeSizes {
                    sizes = image.memory.bytes(table.address, Int(table.size)) ?? sizes
                }
                return .found(V8Runtime(image.memory, module, layout, bytecodeSizes: sizes))
            } catch {
                return .unknown("v8 \(major).\(minor) with another \(error.constant)")
            }
        }
        return .absent
    }

    /// Any thread may run JavaScript, as workers do. For the main thread, the start of the stack is known; 0: not known.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { tid == memory.process ? stackStart : 0 }

    private static let longestState = 1024
    /// Of `startstack` in `/proc/PID/stat`, proc(5), counted from the state, which follows the name in brackets.
    private static let stackStartField = 25

    private static func stackStart(of process: Int32) -> UInt64 {
        guard let text = ProcFile.text(at: "/proc/\(process)/stat", limit: longestState), let name = text.lastIndex(of: ")")
        else {
            return 0
        }
        let fields = text[name...].split(separator: " ").dropFirst()
        return fields.dropFirst(stackStartField).first.flatMap { UInt64($0) } ?? 0
    }

    func stays(in image: ProcessImage) -> Bool {
        guard let own = image.modules.first(where: { $0.index == module }) else { return false }
        let present = own.copies
        copies.withLock { $0 = present }
        return true
    }

    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        var copy = V8Copy(layout, memory)
        copy.copy(from: thread.registers.framePointer, stackStart: thread.place)
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        let copies = copies.withLock { $0 }
        guard let memory else { return stack.map { withOriginal($0, copies) } }
        let live = self.memory
        let finder = V8Stack(
            heap: V8Heap(layout: layout) { address, count in
                memory.bytes(address, count).map { [UInt8]($0) } ?? live.bytes(address, count)
            },
            bytecodeSizes: bytecodeSizes,
            sources: sources,
            builtin: { address in copies.lazy.compactMap { $0.original(of: address) }.first }
        )
        var merged: [StackEntry] = []
        merged.reserveCapacity(stack.count)
        for (place, entry) in stack.enumerated() {
            let entry = withOriginal(entry, copies)
            guard case .native(let native) = entry, isOwn(native.frame), isCopied(native.framePointer, memory),
                !isWithoutFrame(native, before: place + 1 < stack.count ? stack[place + 1] : nil),
                let found = finder.frames(
                    pc: native.frame.pc,
                    framePointer: native.framePointer,
                    isReturnAddress: native.frame.isReturnAddress,
                    isInRuntime: native.frame.module != nil,
                    stackPointer: native.stackPointer
                )
            else {
                merged.append(entry)
                continue
            }
            merged += found.map { .language($0) }
        }
        return merged
    }

    /// A builtin whose caller the walk has found, with the same frame pointer: that is the caller's.
    private func isWithoutFrame(_ native: NativeFrame, before next: StackEntry?) -> Bool {
        guard case .native(let caller)? = next else { return false }
        return !native.frame.isReturnAddress && native.frame.module != nil && caller.framePointer == native.framePointer
    }

    /// A frame in a copy of the builtins as one in the builtins, which have names.
    private func withOriginal(_ entry: StackEntry, _ copies: [ModuleMap.CodeCopy]) -> StackEntry {
        guard case .native(var native) = entry, native.frame.module == nil,
            let address = copies.lazy.compactMap({ $0.original(of: native.address) }).first
        else { return entry }
        native.frame = native.frame.moved(to: module, pc: address &+ (native.frame.pc &- native.address))
        return .native(native)
    }

    /// V8's own code, and what it made, is without unwind tables; its functions in C++ have them.
    private func isOwn(_ frame: FrameBuffer.Frame) -> Bool {
        frame.isWithoutTables && (frame.module.map { modules.contains($0) } ?? true)
    }

    /// Whether the frame's slots and its function are still as they were during the stop.
    private func isCopied(_ framePointer: UInt64, _ memory: MemoryCopy) -> Bool {
        guard memory.holds(framePointer &+ layout.slots.bytecodeOffset, Self.slotBytes),
            let function: UInt64 = memory.load(framePointer &+ layout.slots.function)
        else { return false }
        return V8Heap.isObject(function) && memory.holds(function &- V8Heap.strongTag, layout.functionBytes)
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        let live = memory
        return V8Stack(heap: V8Heap(layout: layout) { live.bytes($0, $1) }, bytecodeSizes: [], sources: sources).name(frame)
    }
}
