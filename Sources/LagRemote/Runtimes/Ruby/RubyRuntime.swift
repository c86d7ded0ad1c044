internal import LagCapture

/// Ruby 3.1: the frames of its virtual machine.
///
/// A call from Ruby to Ruby needs no C call; each call of `rb_vm_exec` runs a group of frames, whose last one is marked. The
/// groups replace those calls, between the remaining C frames.
final class RubyRuntime: LanguageRuntime {
    private static let maximumVersionBytes = 16
    /// Those that have resumed each other.
    private static let maximumFibers = 4

    let modules: Set<Int>
    let copiesFrames = true
    private let memory: RemoteMemory
    private let layout: RubyLayout
    private let machine: UInt64
    private let execution: DynamicSymbols.Symbol

    private init(
        _ memory: RemoteMemory,
        _ layout: RubyLayout,
        machine: UInt64,
        execution: DynamicSymbols.Symbol,
        modules: Set<Int>
    ) {
        self.memory = memory
        self.layout = layout
        self.machine = machine
        self.execution = execution
        self.modules = modules
    }

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        for (place, module) in image.modules.enumerated() where place == 0 || module.name.hasPrefix("libruby") {
            guard let symbols = module.symbols, let machine = symbols.symbol("ruby_current_vm_ptr") else { continue }
            guard let text = symbols.symbol("ruby_version"),
                let version = image.memory.text(text.address, limit: maximumVersionBytes)
            else { return .unknown("ruby") }
            guard let layout = RubyLayout.known.first(where: { version.hasPrefix($0.version + ".") }) else {
                return .unknown("ruby \(version)")
            }
            guard let execution = symbols.symbol("rb_vm_exec") else { return .unknown("ruby \(version) without rb_vm_exec") }
            return .found(
                RubyRuntime(
                    image.memory,
                    layout,
                    machine: machine.address,
                    execution: execution,
                    modules: Set([module.index, image.launcher("ruby")].compactMap { $0 })
                )
            )
        }
        return .absent
    }

    func prepare(tid: Int32, innerTid: Int32) -> UInt64? {
        RubyThreads(memory, layout, machineAt: machine)?.thread(tid, innerTid: innerTid)
    }

    /// The execution contexts of the fiber that the thread currently runs, which may have changed a moment ago, and of those that
    /// have resumed it. Empty if they do not refer to each other.
    private func contexts(of thread: RuntimeThread, _ memory: MemoryCopy) -> [UInt64] {
        var contexts: [UInt64] = []
        guard var context: UInt64 = memory.load(thread.place &+ layout.threadContext) else { return [] }
        let bytes = Int(layout.contextThread) + 8
        while contexts.count < Self.maximumFibers {
            if !memory.holds(context, bytes) { memory.prefetch(context, bytes) }
            guard memory.load(context &+ layout.contextThread) == thread.place else { break }
            contexts.append(context)
            let fiber = context &- layout.fiberContext
            guard memory.load(context &+ layout.contextFiber) == fiber,
                let previous: UInt64 = memory.load(fiber &+ layout.fiberPrevious), previous != 0, previous % 8 == 0,
                memory.load(previous &+ layout.fiberResumed) == fiber
            else { break }
            context = previous &+ layout.fiberContext
        }
        return contexts
    }

    func lock(waitedForAt futex: UInt64) -> RuntimeLock? {
        guard let threads = RubyThreads(memory, layout, machineAt: machine) else { return nil }
        return RubyLock(memory, layout, threads).lock(waitedForAt: futex)
    }

    /// Functions do not move, and are read afterwards: one counts only if it contains the instruction of its frame.
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        let frames = RubyStack(memory: memory, layout: layout)
        for context in contexts(of: thread, memory) { frames.copy(of: context) }
    }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]? {
        let (frames, contexts) = (RubyStack(memory: memory, layout: layout), contexts(of: thread, memory))
        guard !contexts.isEmpty else { return nil }
        var calls: [CallChain.Call] = []
        // A fiber is called by the one that has resumed it.
        for context in contexts.reversed() {
            guard let found = frames.calls(of: context) else { return nil }
            calls += found
        }
        return calls
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory else { return stack }
        let frames = RubyStack(memory: memory, layout: layout)
        let contexts = contexts(of: thread, memory)
        guard let context = contexts.first else { return stack }
        // The fiber that has resumed it continues on its own C stack, which is not walked. After such a gap its frames would
        // replace wrong ones.
        var groups: [[InterpretedCall]] = []
        for context in contexts {
            let found = frames.groups(of: context)
            groups += found.calls
            if !found.isWhole { break }
        }
        let live = self.memory
        var innermost: (place: UInt64, found: RubySequence?)?
        func sequence(at place: UInt64) -> RubySequence? {
            if let innermost, innermost.place == place { return innermost.found }
            return RubySequence(layout, at: place) { live.bytes($0, $1) }
        }
        if frames.isInRuby(context), let call = groups.first?.first, let address = interpreting(stack) {
            let found = sequence(at: call.function)
            innermost = (call.function, found)
            if found?.runs(at: call.counter, interpreter: address) == true {
                groups[0][0] = InterpretedCall(function: call.function, counter: call.counter &+ RubySequence.wordBytes)
            }
        }
        return stack.replacing(callsOf: execution, by: groups.frames(sequence))
    }

    /// The interpreter's position in the innermost call: `rb_vm_exec` calls it (`vm_exec_core`).
    private func interpreting(_ stack: [StackEntry]) -> UInt64? {
        let outer = stack.firstIndex {
            guard case .native(let native) = $0 else { return false }
            return native.address >= execution.address && native.address - execution.address < execution.size
        }
        guard let outer, outer > 0, case .native(let native) = stack[outer - 1], let module = native.frame.module,
            modules.contains(module)
        else { return nil }
        return native.address
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        let live = memory
        let layout = layout
        return frame.name(in: "ruby") {
            RubySequence(layout, at: frame.code) { live.bytes($0, $1) }
        } isLibrary: { _, _ in
            nil
        }
    }
}
