internal import CLagLinux
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis

extension StallFindings {
    struct NamedStack {
        let stack: TalliedStack
        /// As captured, leaf first.
        let frames: [StallRecord.Frame]
        /// With files, lines and the functions that were inlined, where these are asked for and known.
        let levels: [StallRecord.Frame]
        /// Where it is in the tally.
        let index: Int
        let waitKind: StallRecord.LockKind?
        /// Whether those wait for a time alone.
        let isSleep: Bool
        /// How many of the outermost frames are on the loop's stack while it waits, too.
        let loopFrames: Int
        /// Of each frame, whether it is a language's runtime, or of a language and without a name, or code that was made at run time and that nothing names.
        let areOfRuntime: [Bool]

        /// Of each frame, whether it is a language's, and its name was asked for when it was too late: the process had ended.
        let areNamesLost: [Bool]

        /// The levels as the search for the culprit sees them.
        var culpritFrames: [CulpritFrame] {
            // The innermost of them runs the loop. Where it is the program's own, it may be at work itself.
            var (frame, callbacks) = (0, frames.count - loopFrames)
            if loopFrames > 0, frames[callbacks].inApp == true { callbacks += 1 }
            let levels = levels.withoutCallersOfOwnCode
            let functions = Set(levels.lazy.compactMap(\.symbol))
            // What calls an interpreter that is not read only runs what that interprets.
            let interpreter =
                levels.contains { $0.language != nil }
                ? nil : levels.firstIndex { InAppRules.isInterpreter(modulePath: $0.module) }
            let isNamelessStaticProgram = isOfNamelessStaticProgram
            return zip(levels.indices, levels).map { index, level in
                defer { if level.inlined != true { frame += 1 } }
                // Where the function that it was written in is on the stack, that called an algorithm with it.
                let closure = level.closure.flatMap { functions.contains($0.owner) ? nil : $0 }
                return CulpritFrame(
                    symbol: closure?.symbol ?? level.symbol,
                    place: level.functionPlace,
                    inApp: closure != nil || level.inApp ?? false,
                    isRuntime: level.isRuntime || (isNamelessStaticProgram && level.symbol == nil)
                        || interpreter.map { index > $0 } ?? false,
                    isInterpreter: frame < areOfRuntime.count && areOfRuntime[frame],
                    isNameLost: frame < areNamesLost.count && areNamesLost[frame],
                    isFromTemplate: closure != nil,
                    isDoubtful: level.isDoubtful,
                    hidesInlined: level.file == nil && level.language == nil && level.module != nil,
                    isLoopCode: frame >= callbacks,
                    hasLine: level.line != nil
                )
            }
        }

        /// Whether all of the stack is of one file that names nothing: a static program has its C library there, too, and a whole stack of any other begins in that
        /// library's own file.
        private var isOfNamelessStaticProgram: Bool {
            let own = frames.filter { $0.module != "[vdso]" }
            return stack.outcome.end == .complete && Set(own.map(\.module)).count == 1
                && own.allSatisfy { $0.module != nil && $0.symbol == nil }
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

        /// Whether it waits in a lock's system call, for what may be a lock.
        var isInFutex: Bool {
            guard !isSleep else { return false }
            return switch stack.outcome.state {
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
    /// A lambda of the program's that the compiler has put into this function of a library's.
    fileprivate var closure: TemplateClosure? {
        holdsOwnClosure ? variant.flatMap(TemplateClosure.init(in:)) : nil
    }

    /// About what it takes of a line, without its full name, which goes first.
    fileprivate var lineBytes: Int {
        let names = [symbol, file, buildID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return names + (buildID == nil ? 90 : 150)
    }
}
