internal import CLagLinux
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis

extension StallFindings {
    struct NamedStack {
        let stack: TalliedStack
        /// As captured, leaf first.
        let frames: [StallRecord.Frame]
        /// With files, lines and inlined functions, if these are requested and known.
        let levels: [StallRecord.Frame]
        /// Its index in the tally.
        let index: Int
        let waitKind: StallRecord.LockKind?
        /// Whether those wait only for a time.
        let isSleep: Bool
        /// How many of the outermost frames are also on the loop's stack while it waits.
        let loopFrames: Int
        /// For each frame: whether it belongs to a language's runtime, or is a language's frame without a name, or is unnamed
        /// code created at run time.
        let areOfRuntime: [Bool]

        /// For each frame: whether it is a language's frame whose name was looked up too late, because the process had ended.
        let areNamesLost: [Bool]

        /// The levels as the culprit search uses them.
        var culpritFrames: [CulpritFrame] {
            // The innermost loop frame runs the loop. If it is the program's own code, it may be working itself.
            var (frame, callbacks) = (0, frames.count - loopFrames)
            if loopFrames > 0, frames[callbacks].inApp == true { callbacks += 1 }
            let levels = levels.withoutCallersOfOwnCode
            let functions = Set(levels.lazy.compactMap(\.symbol))
            // The caller of an interpreter whose frames cannot be read only runs the interpreted code.
            let interpreter =
                levels.contains { $0.language != nil }
                ? nil : levels.firstIndex { InAppRules.isInterpreter(modulePath: $0.module) }
            let isNamelessStaticProgram = isOfNamelessStaticProgram
            return zip(levels.indices, levels).map { index, level in
                defer { if level.inlined != true { frame += 1 } }
                // If the function that contains the closure is on the stack, it called an algorithm with the closure.
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
                    hidesInlined: level.symbol != nil && level.inApp == true && level.file == nil && level.language == nil
                        && level.module != nil,
                    isCalledDirectly: level.isCalledDirectly,
                    isCalledByLibrary: levels[(index + 1)...].first.map { $0.inApp == false && $0.module != level.module }
                        ?? false,
                    isLoopCode: frame >= callbacks,
                    hasLine: level.line != nil,
                    isOfLanguage: level.language != nil
                )
            }
        }

        /// Whether the whole stack is in one file without symbols: a static program contains its C library, too, and in any other
        /// program the stack begins in that library's own file.
        private var isOfNamelessStaticProgram: Bool {
            let own = frames.filter { $0.module != "[vdso]" }
            return stack.outcome.end == .complete && Set(own.map(\.module)).count == 1
                && own.allSatisfy { $0.module != nil && $0.symbol == nil }
        }

        /// The levels of the first frames. If the culprit's frame is too far out for the line's space, fewer first frames are
        /// kept and the culprit's frame follows them.
        /// - Parameter lineBytes: the limit of the whole line.
        func levels(of count: Int, with culprit: Int?, lineBytes: Int) -> [StallRecord.Frame] {
            let levels = markedLevels
            // The other three eighths are for the rest of the line.
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

        /// The frames that did not fit into the capture precede the outermost ones.
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

        /// Whether it waits in a lock's system call, possibly for a lock.
        var isInFutex: Bool {
            guard !isSleep else { return false }
            return switch stack.outcome.state {
            case .waiting(let call): call.number == cll_syscall_futex
            // The kernel's own function, when it reports nothing else: `futex_wait_queue`, `futex_do_wait`, …
            case .asleep: kernelFunction?.hasPrefix("futex_") ?? false
            default: false
            }
        }

        /// `wchan`: the kernel function in which it sleeps.
        var kernelFunction: String? {
            let length = Int(stack.wait.wchan_length)
            guard length > 0 else { return nil }
            return withUnsafeBytes(of: stack.wait.wchan) { String(decoding: $0.prefix(length), as: UTF8.self) }
        }

        var isWaiting: Bool { sampledState == .waiting || isInFutex }

        /// The lock, if the functions on the stack can have led to its kind; otherwise a futex.
        ///
        /// Memory near a futex may look like a lock by chance; the functions that led there are more reliable.
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
    /// The levels of the first frames, as many as fit into that many bytes. The last level of a frame is the function itself; the
    /// others were inlined into it.
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
    /// A lambda of the program that the compiler has inlined into this library function.
    fileprivate var closure: TemplateClosure? {
        holdsOwnClosure ? variant.flatMap(TemplateClosure.init(in:)) : nil
    }

    /// About how many bytes of a line it takes, without its full name, which is removed first.
    fileprivate var lineBytes: Int {
        let names = [symbol, file, buildID].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return names + (buildID == nil ? 90 : 150)
    }
}
