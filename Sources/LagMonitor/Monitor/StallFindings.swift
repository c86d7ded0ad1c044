internal import CLagLinux
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis
internal import LagModel
internal import LagOutput

/// What the samples of one stall show, with names: the cause, the place, and the culprit. Reporter thread only.
struct StallFindings {
    let seen: [NamedStack]
    /// The same stacks for the culprit search; a stack that was evicted for others is one without frames.
    let stacks: [CulpritStack]
    let culprit: Culprit?
    let cause: StallRecord.Cause
    let rules: InAppRules

    /// - Parameter withLines: whether an inlined function can be the culprit.
    init(_ episode: Episode, _ rules: InAppRules, withLines: Bool, _ builder: inout FrameBuilder) {
        let tally = episode.tally
        // All at once: names are looked up in one pass over each module's table, and lines in one batch.
        builder.prepare(Self.captured(in: tally, withLines: withLines), withLines: withLines)
        var seen: [NamedStack] = []
        for (stack, index, captured) in Self.stacks(in: tally, withLines: withLines) {
            var frames = builder.frames(captured, rules)
            let isUncut = stack.outcome.stored == stack.outcome.total
            let levels = withLines ? builder.framesWithLines(captured, rules, isWhole: isUncut) : frames
            // A function's source file shows whether it is the program's or a library's: a library's header belongs to that
            // library.
            for (index, level) in levels.lazy.filter({ $0.inlined != true }).enumerated() where index < frames.count {
                frames[index].inApp = level.inApp
            }
            let outer = frames.prefix { $0.inApp != true }.map(\.symbol)
            let isWhole = stack.outcome.end == .complete && isUncut
            seen.append(
                NamedStack(
                    stack: stack,
                    frames: frames,
                    levels: levels,
                    index: index,
                    waitKind: StallRecord.LockKind.of(outer),
                    isSleep: StallRecord.LockKind.isSleep(outer),
                    loopFrames: isWhole ? episode.facts.loopStack.commonFrames(with: captured.map(\.functionStart)) : 0,
                    areOfRuntime: zip(captured, frames).map {
                        $0.isRuntime || ($1.symbol == nil && ($0.language != 0 || $0.module == nil))
                    },
                    areNamesLost: zip(captured, frames).map { $0.language != 0 && $1.symbol == nil }
                )
            )
        }
        self.seen = seen
        self.rules = rules
        var rule = CauseRule(duration: episode.facts.interval.length)
        let usage = episode.facts.usage.ofMost(lasting: episode.facts.interval.length)
        rule.cpu = usage.cpuNanoseconds
        rule.runDelay = usage.runDelayNanoseconds
        rule.blocked = usage.blockedNanoseconds
        rule.system = usage.systemNanoseconds
        rule.faults = usage.minorFaults.map { $0 + (usage.majorFaults ?? 0) }
        for namedStack in seen { rule.seen[namedStack.sampledState, default: 0] += namedStack.stack.weightNanoseconds }
        rule.hasHugePages = Self.hasHugePages
        rule.seesKernel = !seen.contains { $0.stack.outcome.isOfOwnCodeAlone }
        cause = rule.cause
        stacks = Self.stacks(of: seen, lost: tally.lostNanoseconds)
        culprit = Culprit(stacks: stacks)
    }

    /// Whether the kernel gives large pages to every program. Read once, by the reporter.
    private static let hasHugePages =
        ProcFile.firstLine(of: "/sys/kernel/mm/transparent_hugepage/enabled")?.contains("[always]") ?? true

    /// The stacks with their frames. A stack that was found at several places of its innermost function counts at each place, if
    /// lines show which functions the compiler has inlined there.
    private static func stacks(in tally: StackTally, withLines: Bool)
        -> [(stack: TalliedStack, index: Int, captured: [FrameBuffer.Frame])]
    {
        (0..<tally.count).flatMap { index in
            let captured = (0..<tally[index].outcome.stored).map { tally.frame($0, of: index) }
            let places = withLines && captured.first?.module != nil ? tally.stackAtLeaves(index) : []
            guard places.count > 1 else { return [(tally[index], index, captured)] }
            return places.map { ($0.stack, index, [captured[0].at($0.pc)] + captured.dropFirst()) }
        }
    }

    private static func captured(in tally: StackTally, withLines: Bool) -> [FrameBuffer.Frame] {
        stacks(in: tally, withLines: withLines).flatMap(\.captured)
            + (0..<tally.count).flatMap { index in
                (0..<tally[index].owners).flatMap { owner in
                    (0..<tally.owner(owner, of: index).outcome.stored).map { tally.frame($0, ofOwner: owner, of: index) }
                }
            }
    }

    private static func stacks(of seen: [NamedStack], lost: UInt64) -> [CulpritStack] {
        var stacks = seen.map { namedStack in
            CulpritStack(
                weightNanoseconds: namedStack.stack.weightNanoseconds,
                frames: namedStack.culpritFrames,
                isComplete: namedStack.stack.outcome.end == .complete,
                samples: namedStack.stack.count
            )
        }
        if lost > 0 { stacks.append(CulpritStack(weightNanoseconds: lost, frames: [])) }
        return stacks
    }

    var tree: [StallRecord.SampleNode] { SampleTree(stacks: stacks).roots }

    /// A pool's threads, grouped by what they were last found doing; the representative's group comes first.
    func workers(of tally: StackTally, maxFrames: Int) -> [StallRecord.WorkerGroup] {
        let first = representative?.index
        let threads = Dictionary(grouping: (0..<tally.workerCount).map(tally.worker)) { Int($0.stack) }
        // Evicted stacks come last.
        let order = threads.keys.sorted { ($0 != first ? 1 : 0, $0 < 0 ? 1 : 0, $0) < ($1 != first ? 1 : 0, $1 < 0 ? 1 : 0, $1) }
        return order.map { stack in
            let namedStack = stack == first ? nil : seen.first { $0.index == stack }
            return StallRecord.WorkerGroup(
                threadIDs: threads[stack, default: []].map(\.tid),
                frames: Array((namedStack?.frames ?? []).prefix(maxFrames))
            )
        }
    }

    /// The stack that represents the stall: the culprit's, otherwise the first that was seen.
    var representative: NamedStack? {
        guard let culprit, seen.indices.contains(culprit.representative) else { return seen.first }
        return seen[culprit.representative]
    }

    /// The functions (``StallRecord/Frame/function``) whose stacks make up more than half of the weight of all stacks. Nil if
    /// none of them is the program's own code: with many short callbacks, most samples show only what runs them.
    var coveringFunctions: Set<String>? {
        var weights: [String: UInt64] = [:]
        var total: UInt64 = 0
        for namedStack in seen where !namedStack.frames.isEmpty {
            let weight = namedStack.stack.weightNanoseconds
            total = total.saturatingSum(weight)
            for function in Set(namedStack.frames.map(\.function)) {
                weights[function] = weights[function, default: 0].saturatingSum(weight)
            }
        }
        let covering = Set(weights.filter { $0.value > total / 2 }.keys)
        guard let representative else { return nil }
        let handlers = representative.frames.dropLast(representative.loopFrames)
        let isAtWork = handlers.contains {
            $0.inApp == true && covering.contains($0.function)
                && FrameRole(symbol: $0.symbol, isOfLanguage: $0.language != nil) == .code
        }
        return isAtWork ? covering : nil
    }

    /// Whether the thread's stacks show garbage collection for more than half of the stall.
    var isCollecting: Bool {
        let collecting = seen.filter {
            $0.frames.contains { !($0.inApp ?? false) && $0.symbol.map(CollectorFunction.isOne) ?? false }
        }
        func weight(_ stacks: [NamedStack]) -> UInt64 { stacks.reduce(0) { $0.saturatingSum($1.stack.weightNanoseconds) } }
        return weight(collecting) > weight(seen) / 2
    }

    /// The wait that matters to the cause: the heaviest of the stall's waits; if the culprit has waits, the heaviest of those.
    var wait: NamedStack? {
        let waits = seen.filter { namedStack in
            switch cause {
            case .lock: namedStack.isInFutex
            case .deadlock: namedStack.isDeadlocked
            case .syscall: namedStack.sampledState == .runningInSystemCall || namedStack.sampledState == .waiting
            case .cpu, .runqueue, .pageFault, .unknown: namedStack.isWaiting
            }
        }
        let culprits = waits.filter { holdsCulprit($0.culpritFrames) }
        return (culprits.isEmpty ? waits : culprits).max { $0.stack.weightNanoseconds < $1.stack.weightNanoseconds }
    }

    private func holdsCulprit(_ frames: [CulpritFrame]) -> Bool {
        guard let culprit, let index = culprit.frameIndex else { return false }
        let function = stacks[culprit.representative].frames[index].function
        return frames.contains { $0.function == function }
    }
}

extension [StallRecord.Frame] {
    /// Without the suspended callers that only forward a call. A closure or a protocol's method would appear twice, like a
    /// recursion.
    ///
    /// One that does not directly follow the function it is named after is kept: the compiler has inlined that function into it.
    var withoutForwarders: [StallRecord.Frame] {
        // The first function of the task's job; what runs the job is further out.
        var callee = prefix { $0.isAsync != true && FrameRole(symbol: $0.symbol) != .machinery }.last
        return filter { frame in
            guard frame.isAsync == true else { return true }
            let saysNothing = frame.symbol.map(FrameRole.isThunk) ?? false
            let isPassedOn = frame.isForwarder && (saysNothing || frame.symbol == callee?.symbol)
            if isPassedOn, callee?.inlined != true, frame.skipped == nil { return false }
            callee = frame
            return true
        }
    }

    /// Without the suspended callers, unless nothing on the stack is the program's own: the code that ran is to blame, not the
    /// code that waited for it.
    var withoutCallersOfOwnCode: ArraySlice<StallRecord.Frame> {
        let stack = prefix { $0.isAsync != true }
        return stack.contains { $0.inApp == true } ? stack : self[...]
    }
}

extension StallRecord.Frame {
    /// Its human-readable place: `libshop.so+0x25f62`; without a file, the address.
    var place: String {
        guard let module, let offset else { return "0x" + String(pc, radix: 16) }
        return "\(module)+0x" + String(offset, radix: 16)
    }

    /// The same for its function, if the function's start is known.
    var functionPlace: String {
        guard let module, let functionOffset else { return place }
        return "\(module)+0x" + String(functionOffset, radix: 16)
    }

    /// What two frames of one function have in common.
    var function: String { (symbol ?? functionPlace) + (variant ?? "") }
}
