internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import LagActivity
internal import LagDetection
internal import LagModel
internal import LagMonitor

/// Finds the loops among the threads of a process, by sampling all of them periodically.
struct LoopSearch {
    private let process: Int32
    private let handle: ProcessHandle
    private let named: [Int32]
    private let selection: LoopSelection
    private let hold: UInt64
    private let mayCount: Bool
    private let semaphore: WakeSemaphore
    private var candidates: [Int32: RestPlaceFinder] = [:]
    private var loops: [Int32: AttachedLoop] = [:]
    /// Whether the process is a Go program: then only explicitly named threads are loops.
    private let isGo: Bool
    /// Threads that cannot be watched.
    private var refused: Set<Int32> = []

    /// In a process with more threads, the others are not sampled, which is reported once.
    private static let mostThreads = 1024
    private var (hasOmitted, isOmissionTaken) = (false, false)
    /// On which epoll instances threads wait, in the present scan.
    private var waiters: EpollWaiters?
    private static let namesInMessage = 8
    /// As many as the preloaded library claims for other threads than the main thread.
    private static let mostCandidates = 16

    init(
        process handle: ProcessHandle,
        named: [Int32],
        selection: LoopSelection,
        hold: UInt64,
        mayCount: Bool,
        semaphore: WakeSemaphore
    ) {
        self.selection = selection
        isGo = GoProgram.isRun(by: handle.pid)
        self.mayCount = mayCount
        process = handle.pid
        self.handle = handle
        self.named = named
        self.hold = hold
        self.semaphore = semaphore
    }

    /// Without those that may not be loops.
    var known: [AttachedLoop] { loops.values.filter(\.isConfirmed).sorted { $0.thread.tid < $1.thread.tid } }

    /// Samples every thread that is not a known loop.
    /// - Returns: the loops that it found.
    mutating func scan() -> [AttachedLoop] {
        guard !isLeftAlone else { return [] }
        var threads = threads()
        // The kernel lists the oldest ones first.
        if named.isEmpty, threads.count > Self.mostThreads {
            hasOmitted = true
            threads.removeLast(threads.count - Self.mostThreads)
        }
        forgetAllBut(threads)
        waiters = nil
        var found: [AttachedLoop] = []
        for tid in threads where loops[tid] == nil && !refused.contains(tid) {
            guard let loop = consider(tid) else { continue }
            loops[tid] = loop
            found.append(loop)
        }
        return found
    }

    /// Loops whose threads have ended since the last call.
    mutating func takeEnded() -> [AttachedLoop] {
        let ended = loops.values.filter { $0.beacon.activity == .finished }
        for loop in ended {
            loops[loop.thread.tid] = nil
            if let listener = loop.candidacy.restsAt {
                candidates[loop.thread.tid] = RestPlaceFinder(trust(in: loop.thread.tid), restsAt: listener, clb_now_ns())
            }
        }
        return ended
    }

    /// The thread is not searched again.
    mutating func exclude(_ loop: AttachedLoop) {
        loops[loop.thread.tid] = nil
        refused.insert(loop.thread.tid)
    }

    /// The threads of a Go program run its goroutines in turn: a thread's work does not delay other goroutines. Unless the user
    /// names one as a loop, none is.
    var isLeftAlone: Bool { isGo && named.isEmpty && selection.threads.isEmpty }

    /// The message about threads that are not searched, once.
    mutating func takeOmission() -> String? {
        guard hasOmitted, !isOmissionTaken else { return nil }
        isOmissionTaken = true
        return "process \(process) has more than \(Self.mostThreads) threads: no loop is searched for in the others; "
            + "use lagmond attach --loop for one that is a loop"
    }

    /// The message if no loop is found.
    var nothingFound: String {
        guard !isLeftAlone else {
            return "\(GoProgram.notice); use lagmond attach --loop or --thread for one that is a loop"
        }
        let way = named.isEmpty ? "epoll_wait, poll or select" : "one place"
        guard selection.threads.isEmpty else {
            let names = Set(threads().compactMap { ThreadName.selectable($0, of: process) }).sorted()
            let others = names.count - Self.namesInMessage
            let shown = names.prefix(Self.namesInMessage).joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
            return "no thread that is selected (\(selection.shown)) was seen to rest in \(way) yet: "
                + "nothing is watched so far; its threads are \(shown)"
        }
        let hint = named.isEmpty ? "; use lagmond attach --loop for a thread that rests elsewhere" : ""
        return "no thread was seen to rest in \(way) yet: nothing is watched so far\(hint)\(children)"
    }

    /// A server's master delegates its work to other processes.
    private var children: String {
        let text = ProcFile.text(at: "/proc/\(process)/task/\(process)/children", limit: 4096) ?? ""
        let children = text.split(separator: " ").compactMap { Int32($0) }
        guard !children.isEmpty else { return "" }
        let names = children.prefix(Self.namesInMessage).map { "\(ProcessContext.processName(of: $0) ?? "unknown") [\($0)]" }
        let others = children.count - names.count
        return "; its child processes are \(names.joined(separator: ", "))" + (others > 0 ? " and \(others) more" : "")
            + ": lagmond attach --pid accepts several"
    }

    private mutating func consider(_ tid: Int32) -> AttachedLoop? {
        // Read each time, because a thread may get its name late.
        guard selection.includes(thread: tid, of: process) else { return nil }
        var files = clr_thread_files()
        var sample = clr_thread_sample()
        guard clr_thread_files_open(process, tid, &files) == 0 else { return nil }
        var finder = candidates[tid] ?? RestPlaceFinder(trust(in: tid))
        let place =
            clr_thread_files_sample(&files, &sample) == 0
            ? finder.observe(ThreadObservation(sample), at: clb_now_ns()) {
                use(of: $0, by: tid)
            } mayBeProvisional: {
                loops.values.count { !$0.isConfirmed } < Self.mostCandidates
            } excludes: {
                WaitObject(process: process, of: sample.call)?.excludes(listener: $0, process: process) == true
            } : nil
        guard let place else {
            candidates[tid] = finder
            clr_thread_files_close(&files)
            return nil
        }
        candidates[tid] = nil
        var (low, high): (UInt64, UInt64) = (0, 0)
        _ = cll_procfs_mapping(process, place.stackPointer, &low, &high)
        let thread = ThreadIdentity(tid: tid, process: process, stackLow: low, stackHigh: high)
        let examiner = LoopExaminer(handle, tid: tid, isDeclared: named.contains(tid))
        if place.call == nil { examiner.recordRest(sample.call, at: 0) }
        return AttachedLoop(
            thread,
            at: place,
            files: files,
            semaphore: semaphore,
            hold: hold,
            mayCount: mayCount,
            examiner: examiner,
            candidacy: Candidacy(isConfirmed: !finder.isProvisional, job: finder.job)
        )
    }

    private func trust(in tid: Int32) -> RestPlaceFinder.Trust { named.contains(tid) ? .named : tid == process ? .first : .some }

    /// Threads that share an instance are a pool; each of them is assessed by its own waits.
    private mutating func use(of epoll: Int32, by tid: Int32) -> RestPlaceFinder.InstanceUse {
        let known = waiters ?? EpollWaiters(process: process)
        waiters = known
        guard !loops.values.contains(where: { $0.epoll == epoll }), known.isAlone(tid, at: epoll) else { return .shared }
        return clr_epoll_accepts(handle.descriptor, process, epoll) != 0 ? .accepting : .own
    }

    private mutating func forgetAllBut(_ threads: [Int32]) {
        let present = Set(threads)
        candidates = candidates.filter { present.contains($0.key) }
        refused.formIntersection(present)
    }

    private func threads() -> [Int32] {
        named.isEmpty
            ? ProcFile.numbers(in: "/proc/\(process)/task", limit: Self.mostThreads + 1)
            : ProcFile.numbers(in: "/proc/\(process)/task").filter(named.contains)
    }
}
