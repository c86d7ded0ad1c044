internal import LagCapture

/// CPython from 3.11 on: the frames of its evaluation loop.
///
/// A call from Python to Python needs no C call; each call of `_PyEval_EvalFrameDefault` runs a group of frames, and keeps
/// data on the C stack that identifies it. So the groups exactly replace those calls, between the remaining C frames.
final class PythonRuntime: LanguageRuntime {
    let modules: Set<Int>
    let copiesFrames = true
    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let jumps: PythonJumps?
    private let codeType: UInt64
    private let runtime: UInt64
    private let evaluation: DynamicSymbols.Symbol?
    private let threads: PythonThreads
    private let names: PythonNames
    private let interpreterLock: PythonLock
    private let types: PythonTask.Types
    private let taskLearner: PythonTaskLearner

    private static let warmUpNanoseconds: UInt64 = 1_000_000

    init(
        _ memory: RemoteMemory,
        _ layout: PythonLayout,
        jumps: PythonJumps?,
        runtime: UInt64,
        codeType: UInt64,
        types: PythonTask.Types,
        evaluation: DynamicSymbols.Symbol?,
        bundle: PythonBundle?,
        modules: Set<Int>
    ) {
        self.types = types
        taskLearner = PythonTaskLearner(memory)
        self.memory = memory
        self.layout = layout
        self.jumps = jumps
        self.codeType = codeType
        self.runtime = runtime
        self.evaluation = evaluation
        self.modules = modules
        threads = PythonThreads(memory, layout, runtime: runtime)
        interpreterLock = PythonLock(memory, layout, runtime: runtime, threads)
        names = PythonNames(memory, layout, type: codeType, bundle: bundle)
    }

    /// Runs the code of a copy once, so that the cost of its first use does not prolong a stop.
    func warmUp() {
        let process = memory.process
        let inner = NamespaceThread.innerTid(of: process, process: process)
        guard let place = prepare(tid: process, innerTid: inner), let copy = MemoryCopy(process: process) else { return }
        copy.open(nil, within: Self.warmUpNanoseconds)
        self.copy(RuntimeThread(tid: process, innerTid: inner, place: place, registers: RuntimeRegisters()), copy)
    }

    func prepare(tid: Int32, innerTid: Int32) -> UInt64? {
        guard let state = place(tid: tid, innerTid: innerTid) else { return nil }
        taskLearner.learn(layout, types, state: state, tid: innerTid)
        return state
    }

    func place(tid: Int32, innerTid: Int32) -> UInt64? { threads.state(of: innerTid) }

    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        _ = isCollecting(thread, memory)
        let groups = PythonFrameWalk(memory, layout).copied(of: thread.place, tid: thread.innerTid)
        _ = PythonTask(memory, layout, types).running(PythonTask.coroutines(groups, layout), at: taskLearner.distances)
    }

    func task(of thread: RuntimeThread, _ memory: MemoryCopy) -> LanguageTask? {
        let groups = PythonFrameWalk(memory, layout).groups(of: thread.place, tid: thread.innerTid)
        let coroutines = PythonTask.coroutines(groups, layout)
        guard !coroutines.isEmpty else { return nil }
        let found = PythonTask(memory, layout, types).running(coroutines, at: taskLearner.distances)
        guard taskLearner.isTask(found), let found else { return nil }
        var task = found.task
        var awaiters = PythonAwaiters(self.memory, layout, types, of: found)
        task.awaiters = awaiters.names()
        return task
    }

    func isCollecting(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool {
        PythonCollector(memory, layout, runtime: runtime).isAtWork(in: thread.place, tid: thread.innerTid)
    }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]? {
        let (groups, isWhole) = PythonFrameWalk(memory, layout).walk(of: thread.place, tid: thread.innerTid)
        guard isWhole else { return nil }
        return groups.reversed().flatMap {
            $0.frames.reversed().map { CallChain.call(frame: $0.address, code: $0.code, instruction: $0.instruction) }
        }
    }

    func isInLoop(_ branch: CallChain.Branch) -> Bool? {
        guard let jumps, branch.now.code == branch.then.code, branch.now.instruction != branch.then.instruction else {
            return false
        }
        var steps = PythonFlow.mostSteps
        guard let (code, instructions) = code(of: branch.then) else { return nil }
        guard let wait = code.index(of: branch.then.instruction), let present = code.index(of: branch.now.instruction),
            let flow = jumps.flow(instructions, within: &steps),
            flow.innermostLoop(around: wait, contains: present, within: &steps) == true
        else { return false }
        for call in branch.left {
            guard let (code, instructions) = self.code(of: call) else { return nil }
            guard let unit = code.index(of: call.instruction), let flow = jumps.flow(instructions, within: &steps),
                !flow.mayRepeat(unit, within: &steps)
            else { return false }
        }
        return true
    }

    /// Nil: it cannot be read now.
    private func code(of call: CallChain.Call) -> (code: PythonCode, instructions: [UInt8])? {
        guard let code = PythonCode(memory, layout, type: codeType, at: call.code), let instructions = code.instructions(memory)
        else {
            return nil
        }
        return (code, instructions)
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory else { return stack }
        let groups = PythonFrameWalk(memory, layout).groups(of: thread.place, tid: thread.innerTid)
        var codes: [UInt64: PythonCode?] = [:]
        let found = groups.map { group in
            (anchor: group.anchor, frames: group.frames.compactMap { language($0, &codes) })
        }
        guard found.contains(where: { !$0.frames.allSatisfy(\.isNameless) }) else { return stack }
        return merged(stack, found)
    }

    func lock(waitedForAt futex: UInt64) -> RuntimeLock? { interpreterLock.lock(waitedForAt: futex) }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? { names.name(frame) }

    private func language(_ frame: PythonFrameWalk.Frame, _ codes: inout [UInt64: PythonCode?]) -> LanguageFrame? {
        let code: PythonCode?
        if let known = codes[frame.code] {
            code = known
        } else {
            code = PythonCode(memory, layout, type: codeType, at: frame.code)
            codes[frame.code] = .some(code)
        }
        guard let code, let index = code.index(of: frame.instruction) else {
            return .nameless(code: frame.code, pc: frame.instruction)
        }
        if code.isIncomplete(at: index, owner: frame.owner) { return nil }
        return LanguageFrame(code: frame.code, check: code.check, position: UInt64(index + 1), pc: frame.instruction)
    }

    /// Replaces the calls that run the groups by the groups. The runtime's own frames below the first one are removed.
    private func merged(_ stack: [StackEntry], _ groups: [(anchor: UInt64?, frames: [LanguageFrame])]) -> [StackEntry] {
        var merged: [StackEntry] = []
        var next = 0
        var isBelowEvaluation = false
        let bounds = upperBounds(stack)
        for (index, entry) in stack.enumerated() {
            guard case .native(let native) = entry else {
                merged.append(entry)
                continue
            }
            if next < groups.count, runs(native, below: bounds[index], groups[next...]) {
                // A call that runs none of them, between two that do, has been overlooked in the walk: its group comes with the next.
                let last = groups[next...].firstIndex { holds($0.anchor, native, below: bounds[index]) } ?? next
                for group in groups[next...last] { merged += group.frames.map(StackEntry.language) }
                next = last + 1
                isBelowEvaluation = true
                continue
            }
            let isRuntime = native.frame.module.map(modules.contains) ?? false
            // `-X perf`: code that the interpreter makes so that a profiler sees the function.
            let isTrampoline = native.frame.module == nil && isBelowEvaluation
            isBelowEvaluation = false
            if next > 0, isRuntime || isTrampoline { continue }
            merged.append(entry)
        }
        for group in groups[next...] { merged += group.frames.map(StackEntry.language) }
        return merged
    }

    /// Of each entry the stack pointer of the next native one.
    private func upperBounds(_ stack: [StackEntry]) -> [UInt64] {
        var bounds = [UInt64](repeating: .max, count: stack.count)
        var bound = UInt64.max
        for index in stack.indices.reversed() {
            bounds[index] = bound
            if case .native(let native) = stack[index], native.stackPointer != 0 { bound = native.stackPointer }
        }
        return bounds
    }

    private func runs(
        _ native: NativeFrame,
        below bound: UInt64,
        _ groups: ArraySlice<(anchor: UInt64?, frames: [LanguageFrame])>
    ) -> Bool {
        guard let module = native.frame.module, modules.contains(module) else { return false }
        if native.stackPointer != 0, groups.first?.anchor != nil {
            return groups.contains { holds($0.anchor, native, below: bound) }
        }
        guard let evaluation, native.address >= evaluation.address else { return false }
        return native.address - evaluation.address < evaluation.size
    }

    private func holds(_ anchor: UInt64?, _ native: NativeFrame, below bound: UInt64) -> Bool {
        guard let anchor, native.stackPointer != 0 else { return false }
        return anchor >= native.stackPointer && anchor < bound
    }
}
