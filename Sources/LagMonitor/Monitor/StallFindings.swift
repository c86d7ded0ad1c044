internal import CLagLinux
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis
internal import LagOutput

/// What the samples of one stall contain, with names: why, where, and who is to blame. Reporter thread only.
struct StallFindings {
    /// A stack that was seen, named.
    struct NamedStack {
        let stack: TalliedStack
        /// As captured, leaf first.
        let frames: [StallRecord.Frame]
        /// With files, lines and the functions that were inlined, where these are asked for and known.
        let levels: [StallRecord.Frame]
        /// Where it is in the tally.
        let index: Int
        let waitKind: StallRecord.LockKind?
        /// How many of the outermost frames are on the loop's stack while it waits, too.
        let loopFrames: Int
        /// Of each frame, whether it is a language's runtime, or of a language and without a name.
        let areOfRuntime: [Bool]

        /// The levels as the search for the culprit sees them.
        var culpritFrames: [CulpritFrame] {
            // The innermost of them runs the loop. Where it is the program's own, it may be at work itself.
            var (frame, callbacks) = (0, frames.count - loopFrames)
            if loopFrames > 0, frames[callbacks].inApp == true { callbacks += 1 }
            return levels.withoutCallersOfOwnCode.map { level in
                defer { if level.inlined != true { frame += 1 } }
                return CulpritFrame(
                    symbol: level.symbol,
                    place: level.functionPlace,
                    inApp: level.inApp ?? false,
                    isRuntime: InAppRules.isRuntime(modulePath: level.module),
                    isInterpreter: frame < areOfRuntime.count && areOfRuntime[frame],
                    isLoopCode: frame >= callbacks
                )
            }
        }

        /// The levels of the first frames. Where the culprit's lies further out than a line has room for, it follows on fewer of them.
        /// - Parameter lineBytes: what a line may have in all.
        func levels(of count: Int, with culprit: Int?, lineBytes: Int) -> [StallRecord.Frame] {
            let levels = markedLevels
            // Three eighths are for everything else.
            let room = lineBytes / 8 * 5
            guard let culprit, levels[...culprit].shown(frames: count, bytes: room).count <= culprit else {
                return Array(levels.shown(frames: count, bytes: .max))
            }
            let inner = levels[..<culprit].shown(frames: count / 2, bytes: room / 2)
            let between = levels[inner.endIndex..<culprit].count { $0.inlined != true }
            let lost = levels[inner.endIndex...culprit].lazy.compactMap(\.skipped).first ?? 0
            var outer = levels[culprit...]
            outer[culprit].skipped = between + lost
            return Array(inner) + outer.shown(frames: count - count / 2, bytes: .max)
        }

        /// Those that the capture had no room for are before the outermost ones.
        private var markedLevels: [StallRecord.Frame] {
            let lost = stack.outcome.total - stack.outcome.stored
            var place = 0
            let first = levels.firstIndex { level in
                defer { if level.inlined != true { place += 1 } }
                return place == frames.count - FrameBuffer.outerFrames
            }
            guard lost > 0, let first else { return levels }
            var marked = levels
            marked[first].skipped = lost
            return marked
        }

        var isInFutex: Bool {
            switch stack.outcome.state {
            case .waiting(let call): call.number == cll_syscall_futex
            // The kernel's own function, where it reports nothing else: `futex_wait_queue`, `futex_do_wait`, …
            case .asleep: kernelFunction?.hasPrefix("futex_") ?? false
            default: false
            }
        }

        /// `wchan`: the kernel's function that it sleeps in.
        var kernelFunction: String? {
            let length = Int(stack.wait.wchan_length)
            guard length > 0 else { return nil }
            return withUnsafeBytes(of: stack.wait.wchan) { String(decoding: $0.prefix(length), as: UTF8.self) }
        }

        var isWaiting: Bool { sampledState == .waiting || isInFutex }

        /// The lock, if its kind is one that the functions can have led to; otherwise a futex.
        ///
        /// Memory near a futex may look like a lock by chance; the functions that led there know better.
        var lock: cll_lock? {
            guard isInFutex else { return nil }
            var lock = stack.lock
            let isPossible =
                switch lock.kind {
                case Int32(CLL_LOCK_MUTEX): waitKind == nil || waitKind == .mutex
                case Int32(CLL_LOCK_READ_WRITE): waitKind == .readWrite
                case Int32(CLL_LOCK_THREAD): waitKind == .thread
                case Int32(CLL_LOCK_QUEUE): waitKind == nil || waitKind == .queue
                case Int32(CLL_LOCK_OWNED_WORD): waitKind == nil || waitKind == .owned
                case Int32(CLL_LOCK_CONDITION): waitKind == nil || waitKind == .condition
                case Int32(CLL_LOCK_SEMAPHORE): waitKind == nil || waitKind == .semaphore
                default: true
                }
            if !isPossible {
                lock = cll_lock()
                lock.kind = Int32(CLL_LOCK_FUTEX)
                lock.address = stack.wait.call.arguments.0
            }
            return lock
        }

        var isDeadlocked: Bool { stack.cycle >= 0 && (lock?.owner ?? 0) > 0 }

        var sampledState: CauseRule.SampledState {
            switch stack.outcome.state {
            case .unknown, .running: .computing
            case .runningCall: .runningInSystemCall
            case .faulting: .faulting
            case .waiting, .asleep: isInFutex ? (isDeadlocked ? .deadlocked : .waitingForLock) : .waiting
            }
        }
    }

    let seen: [NamedStack]
    /// The same for the search of the culprit; what had to make room for others is one without frames.
    let stacks: [CulpritStack]
    let culprit: Culprit?
    let cause: StallRecord.Cause
    let rules: InAppRules

    /// - Parameter withLines: whether inlined functions can be to blame.
    init(_ episode: Episode, _ rules: InAppRules, withLines: Bool, _ builder: inout FrameBuilder) {
        let tally = episode.tally
        // All at once: names are searched in one pass over each module's table, and lines asked for in one batch.
        builder.prepare(Self.captured(in: tally), withLines: withLines)
        var seen: [NamedStack] = []
        for index in 0..<tally.count {
            let stack = tally[index]
            let captured = (0..<stack.outcome.stored).map { tally.frame($0, of: index) }
            var frames = builder.frames(captured, rules)
            let levels = withLines ? builder.framesWithLines(captured, rules) : frames
            // A function's source file says whose it is: of a header, a library's.
            for (index, level) in levels.lazy.filter({ $0.inlined != true }).enumerated() where index < frames.count {
                frames[index].inApp = level.inApp
            }
            let outer = frames.prefix { $0.inApp != true }.map(\.symbol)
            let isWhole = stack.outcome.end == .complete && stack.outcome.stored == stack.outcome.total
            seen.append(
                NamedStack(
                    stack: stack,
                    frames: frames,
                    levels: levels,
                    index: index,
                    waitKind: StallRecord.LockKind.of(outer),
                    loopFrames: isWhole ? episode.facts.loopStack.commonFrames(with: captured.map(\.functionStart)) : 0,
                    areOfRuntime: zip(captured, frames).map { $0.isRuntime || ($0.language != 0 && $1.symbol == nil) }
                )
            )
        }
        self.seen = seen
        self.rules = rules
        var rule = CauseRule(duration: episode.facts.interval.length)
        rule.cpu = episode.facts.usage.cpuNanoseconds
        rule.runDelay = episode.facts.usage.runDelayNanoseconds
        rule.blocked = episode.facts.usage.blockedNanoseconds
        rule.system = episode.facts.usage.systemNanoseconds
        rule.faults = episode.facts.usage.minorFaults.map { $0 + (episode.facts.usage.majorFaults ?? 0) }
        for namedStack in seen { rule.seen[namedStack.sampledState, default: 0] += namedStack.stack.weightNanoseconds }
        rule.hasHugePages = Self.hasHugePages
        rule.seesKernel = !seen.contains { $0.stack.outcome.isOfOwnCodeAlone }
        cause = rule.cause
        stacks = Self.stacks(of: seen, lost: tally.lostNanoseconds)
        culprit = Culprit(stacks: stacks)
    }

    /// Whether the kernel gives large pages to every program. Read once, by the reporter.
    private static let hasHugePages =
        ProcessContext.firstLine(of: "/sys/kernel/mm/transparent_hugepage/enabled")?.contains("[always]") ?? true

    private static func captured(in tally: StackTally) -> [FrameBuffer.Frame] {
        (0..<tally.count).flatMap { index in
            (0..<tally[index].outcome.stored).map { tally.frame($0, of: index) }
                + (0..<tally[index].owners).flatMap { owner in
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

    /// All the stacks, merged.
    var tree: [StallRecord.SampleNode] {
        SampleTree(stacks: stacks).map { weight, samples, frames, children, pruned in
            StallRecord.SampleNode(
                weightNanoseconds: weight,
                samples: samples,
                frames: frames,
                children: children,
                prunedNanoseconds: pruned
            )
        }
    }

    /// The threads of a pool by what they were last found doing, the representative's first.
    func workers(of tally: StackTally, maxFrames: Int) -> [StallRecord.WorkerGroup] {
        let first = representative?.index
        let threads = Dictionary(grouping: (0..<tally.workerCount).map(tally.worker)) { Int($0.stack) }
        // What had to make room for other stacks comes last.
        let order = threads.keys.sorted { ($0 != first ? 1 : 0, $0 < 0 ? 1 : 0, $0) < ($1 != first ? 1 : 0, $1 < 0 ? 1 : 0, $1) }
        return order.map { stack in
            let namedStack = stack == first ? nil : seen.first { $0.index == stack }
            return StallRecord.WorkerGroup(
                threadIDs: threads[stack, default: []].map(\.tid),
                frames: Array((namedStack?.frames ?? []).prefix(maxFrames))
            )
        }
    }

    /// The stack that stands for the stall: the culprit's; else the first that was seen.
    var representative: NamedStack? {
        guard let culprit, seen.indices.contains(culprit.representative) else { return seen.first }
        return seen[culprit.representative]
    }

    /// What it waited for, as far as that matters to the cause: the heaviest of the waits that make it up, of those of the culprit if it has any.
    var wait: NamedStack? {
        let waits = seen.filter { namedStack in
            switch cause {
            case .lock: namedStack.isInFutex
            case .deadlock: namedStack.isDeadlocked
            case .syscall: namedStack.sampledState == .runningInSystemCall || namedStack.sampledState == .waiting
            case .cpu, .runqueue, .pageFault, .unknown: namedStack.isWaiting
            }
        }
        let culprits = waits.filter { holdsCulprit(stacks[$0.index]) }
        return (culprits.isEmpty ? waits : culprits).max { $0.stack.weightNanoseconds < $1.stack.weightNanoseconds }
    }

    private func holdsCulprit(_ stack: CulpritStack) -> Bool {
        guard let culprit, let index = culprit.frameIndex else { return false }
        let function = stacks[culprit.representative].frames[index].function
        return stack.frames.contains { $0.function == function }
    }
}

extension [StallRecord.Frame] {
    /// Without the suspended callers, unless nothing on the stack is the program's own: what ran is to blame, not who waited for it.
    var withoutCallersOfOwnCode: ArraySlice<StallRecord.Frame> {
        let stack = prefix { $0.isAsync != true }
        return stack.contains { $0.inApp == true } ? stack : self[...]
    }
}

extension StallRecord.Frame {
    /// Where it is, for people: `libshop.so+0x25f62`, and without a file the address.
    var place: String {
        guard let module, let offset else { return "0x" + String(pc, radix: 16) }
        return "\(module)+0x" + String(offset, radix: 16)
    }

    /// The same of its function, where its beginning is known.
    var functionPlace: String {
        guard let module, let functionOffset else { return place }
        return "\(module)+0x" + String(functionOffset, radix: 16)
    }
}

extension RandomAccessCollection<StallRecord.Frame> {
    /// The levels of the first frames, as many as take at most so much of a line. Of a frame's levels the last is the function itself, the others were inlined into it.
    fileprivate func shown(frames count: Int, bytes: Int) -> SubSequence {
        var (frames, left) = (count, bytes)
        return prefix { level in
            guard frames > 0, level.lineBytes <= left else { return false }
            left -= level.lineBytes
            if level.inlined != true { frames -= 1 }
            return true
        }
    }
}

extension StallRecord.Frame {
    /// About what it takes of a line, without its full name, which goes first.
    fileprivate var lineBytes: Int {
        let names = [symbol, file, buildID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return names + (buildID == nil ? 90 : 150)
    }
}
