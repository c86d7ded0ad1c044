internal import CLagBeacon
internal import CLagLinux
internal import LagCapture

/// A thread of a process with runtimes, in one capture.
final class PreparedThread: Sendable {
    private let source: LanguageFrames
    private let runtimes: [(runtime: any LanguageRuntime, place: UInt64?)]
    private let tids: (outer: Int32, inner: Int32)
    private let context: ThreadContexts.Thread?

    init(
        _ source: LanguageFrames,
        _ runtimes: [(any LanguageRuntime, UInt64?)],
        _ tids: (Int32, Int32),
        _ context: ThreadContexts.Thread?
    ) {
        self.source = source
        self.runtimes = runtimes
        self.tids = tids
        self.context = context
    }

    /// The kernel's thread ID.
    var tid: Int32 { tids.outer }
    /// Whether frames or the context must be copied while the thread cannot change them: then a running thread must be stopped.
    var copiesFrames: Bool { context != nil || runtimes.contains { $0.runtime.copiesFrames && $0.place != nil } }

    /// Copies the runtimes' data on the stopped thread: no names, no lines, as little as needed. The watchdog for a
    /// sleeping thread, the tracer for a stopped one.
    func copy(_ memory: MemoryCopy, of snapshot: UnsafePointer<cll_snapshot>) {
        // It is little, independent of the depth of the stack.
        _ = context?.record(memory)
        let registers = RuntimeRegisters(snapshot)
        for (runtime, place) in runtimes where runtime.copiesFrames {
            guard let place else { continue }
            runtime.copy(RuntimeThread(tid: tids.outer, innerTid: tids.inner, place: place, registers: registers), memory)
        }
    }

    /// The end of the stopped thread's current stack; nil: no runtime knows it.
    func stackEnd(_ memory: MemoryCopy, of snapshot: UnsafePointer<cll_snapshot>) -> UInt64? {
        for (runtime, thread) in known(RuntimeRegisters(snapshot)) {
            if let end = runtime.stackEnd(of: thread, memory) { return end }
        }
        return nil
    }

    /// Finds in the copy the published context of the thread.
    /// - Returns: whether it was found.
    func findContext(_ memory: MemoryCopy, _ found: UnsafeMutablePointer<clb_context_copy>) -> Bool {
        guard let record = context?.record(memory) else { return false }
        record.write(to: found, keys: source.keys(for: record), rule: source.attributes)
        return true
    }

    /// Finds in the copy the language's task that the thread runs.
    /// - Returns: whether it was found.
    func findTask(
        _ memory: MemoryCopy,
        of snapshot: UnsafePointer<cll_snapshot>,
        _ found: UnsafeMutablePointer<cll_task>
    ) -> Bool {
        for (runtime, thread) in known(RuntimeRegisters(snapshot)) {
            guard let task = runtime.task(of: thread, memory) else { continue }
            task.write(to: found)
            return true
        }
        return false
    }

    /// Whether a runtime was collecting garbage in this thread, by the copy. The watchdog.
    func isCollecting(_ memory: MemoryCopy) -> Bool {
        known(RuntimeRegisters()).contains { $0.isCollecting($1, memory) }
    }

    /// The runtimes that know the thread.
    private func known(_ registers: RuntimeRegisters) -> some Sequence<(any LanguageRuntime, RuntimeThread)> {
        runtimes.lazy.compactMap { [tids] runtime, place in
            place.map { (runtime, RuntimeThread(tid: tids.outer, innerTid: tids.inner, place: $0, registers: registers)) }
        }
    }

    /// As ``LanguageCapture``.
    /// - Parameter memory: what was copied; nil: nothing was.
    func merge(
        _ memory: MemoryCopy?,
        _ snapshot: UnsafePointer<cll_snapshot>,
        into frames: FrameBuffer,
        stored: Int
    ) -> (stored: Int, gained: Int, isWhole: Bool) {
        guard !runtimes.isEmpty else { return (stored, 0, false) }
        let registers = RuntimeRegisters(snapshot)
        var stack = (0..<stored).map { index in
            StackEntry.native(
                NativeFrame(
                    frame: frames[index],
                    stackPointer: frames.stackPointer(of: index),
                    framePointer: frames.framePointer(of: index)
                )
            )
        }
        var found: [LanguageFrame: any LanguageRuntime] = [:]
        for (runtime, place) in runtimes {
            let thread = RuntimeThread(tid: tids.outer, innerTid: tids.inner, place: place ?? 0, registers: registers)
            stack = runtime.merge(thread, place == nil ? nil : memory, stack)
            for case .language(let frame) in stack where found[frame] == nil { found[frame] = runtime }
        }
        let gained = stack.count - stored
        let isWhole = if case .language(let last)? = stack.last { last.isOutermost } else { false }
        stack = Self.inRoom(stack, for: frames.capacity)
        let ofRuntime = runtimes.reduce(into: Set<Int>()) { $0.formUnion($1.runtime.modules) }
        let languages = stack.compactMap { entry -> (LanguageFrame, any LanguageRuntime)? in
            if case .language(let frame) = entry, let runtime = found[frame] { (frame, runtime) } else { nil }
        }
        var numbers = source.numbers(languages)[...]
        let merged = stack.map { entry -> FrameBuffer.Frame in
            switch entry {
            case .native(let native):
                var frame = native.frame
                frame.isRuntime = frame.module.map { ofRuntime.contains($0) } ?? false
                return frame
            case .language(let found):
                var frame = FrameBuffer.Frame(language: numbers.popFirst() ?? 0, pc: found.pc)
                frame.isRuntime = found.isRuntime
                return frame
            }
        }
        return (frames.replace(by: merged), gained, isWhole)
    }
}

extension PreparedThread {
    /// For an overlong stack, the innermost frames and the outermost: the caller is between a library's recursion and the loop.
    static func inRoom<Entry>(_ stack: [Entry], for capacity: Int) -> [Entry] {
        guard stack.count > capacity else { return stack }
        let outer = min(FrameBuffer.outerFrames, capacity / 2)
        return Array(stack.prefix(capacity - outer) + stack.suffix(outer))
    }
}

extension RuntimeRegisters {
    init(_ snapshot: UnsafePointer<cll_snapshot>) {
        func register(_ number: Int) -> UInt64? {
            guard snapshot.pointee.known & (1 << UInt64(number)) != 0 else { return nil }
            return withUnsafeBytes(of: snapshot.pointee.registers) { $0.load(fromByteOffset: number * 8, as: UInt64.self) }
        }
        self.init(
            programCounter: register(Int(CLL_REGISTER_PC)) ?? 0,
            stackPointer: register(Int(CLL_REGISTER_SP)) ?? 0,
            framePointer: register(Int(CLL_REGISTER_FP))
        )
        // Their numbers are DWARF's.
        #if arch(x86_64)
            (r13, r14, r15) = (register(13), register(14), register(15))
        #endif
    }
}
