internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Reports which loops of a command are watched, and finds its processes in which the preloaded library is not active: they are
/// watched from outside if the kernel permits it, and otherwise reported.
///
/// Runs a thread: some µs each half second, 10 µs per process each five seconds (at first each time), mappings once a program.
// Unchecked: only its thread uses the state of `poll`; the rest is immutable, atomic or in a Mutex.
final class WatchReporter: @unchecked Sendable {
    /// A process of the command that is not watched.
    struct Unwatched: Sendable {
        let pid: Int32
        let name: String
        let reason: String
    }

    /// The state of a process.
    private enum Observation {
        case hasLibrary
        /// It has the library, which has not seen a wait in it, but one of its threads was found asleep in a wait, at this time.
        case hasBlindLibrary(since: MonotonicTime)
        /// It runs below another lagmond, which watches it.
        case isOthers
        /// Since this time: a short-lived process, or one between fork and exec, is not a gap in the watch.
        case withoutLibrary(since: MonotonicTime)
        case notSelected(name: String)
        case failed(Unwatched, at: MonotonicTime)
    }

    /// Data that all processes of the command share.
    struct Surroundings {
        /// Why the library is in none of them; nil: it can be active.
        let obstacle: String?
        /// The variable that names the shared table.
        let table: (name: String, value: String)
        /// Whether the library is active in a process; nil: unknown.
        let hasLibrary: @Sendable (Int32) -> Bool?
        /// The processes that are watched now.
        let watched: @Sendable () -> [WatchedProcess]
        /// Whether a process publishes anything in the table.
        let publishes: @Sendable (Int32) -> Bool
        /// How often the table had no free slot for a loop.
        let refusals: @Sendable () -> UInt64
        /// Loops in the table that are not selected.
        let unselected: @Sendable () -> [UnselectedLoop]
    }

    private let lifecycle: CommandLifecycle
    private let outside: ExternalWatch
    private let surroundings: Surroundings
    private let isOver = Atomic(false)
    private let unwatchedNow = Mutex<[Unwatched]>([])
    private let withoutLoopNow = Mutex<[Unwatched]>([])
    private let messages: HeldMessages

    private var report = WatchReport()
    private var (listedAt, silenceCheckedAt) = (MonotonicTime.now, MonotonicTime.now)
    /// The command's process, and when it was first seen: processes that it starts early are watched soon.
    private var rootProcess: (pid: Int32, since: MonotonicTime) = (0, .now)
    private var observations: [ProcessID: Observation] = [:]
    private var (linesLeft, silenceLinesLeft) = (WatchReport.lines, WatchReport.lines)
    /// Processes that were found to have no loop, and whether that was reported.
    private var silent: [ProcessID: Bool] = [:]
    private var isShortageReported = false
    private var threadServers = ThreadServerHints()

    /// A refused process is retried after this time.
    private static let retryAfter: Duration = .seconds(60)
    /// A process that exists this long without the library is neither short-lived nor between fork and exec.
    private static let settlingTime: Duration = .seconds(1)

    init(lifecycle: CommandLifecycle, outside: ExternalWatch, surroundings: Surroundings) {
        self.lifecycle = lifecycle
        messages = HeldMessages { lifecycle.say($0) }
        self.outside = outside
        self.surroundings = surroundings
    }

    func start() throws(StartFailure) {
        try HelperThread.start("watch-reporter") { [self] in
            while !isOver.load(ordering: .acquiring) {
                poll()
                usleep(UInt32(WatchReport.interval.wholeNanoseconds / 1000))
            }
        }
    }

    /// Reports now what was held back.
    func stop() {
        isOver.store(true, ordering: .releasing)
        messages.flush()
    }

    /// The processes that run but are not watched. Any thread.
    var unwatched: [Unwatched] { unwatchedNow.withLock { $0 } }

    /// The processes that run, are watched, and have no event loop so far. Any thread.
    var withoutLoop: [Unwatched] { withoutLoopNow.withLock { $0 } }

    private func poll() {
        let now = MonotonicTime.now
        // In the /proc of another namespace, the process ID belongs to another process.
        let root = ProcFolder.fault == nil ? lifecycle.status.pid : 0
        let selection = outside.selection
        outside.leave(publishes: surroundings.publishes) { [surroundings] in
            selection.includes(process: $0) ? surroundings.hasLibrary($0) : true
        }
        let present = surroundings.watched()
        let reported = present.map(WatchReport.Process.init)
        let withLoops = Set(reported.filter { !$0.loops.isEmpty }.map(\.id.pid))
        if root != rootProcess.pid { rootProcess = (root, now) }
        let isSilenceDue = now - silenceCheckedAt >= WatchReport.patience
        if isSilenceDue || WatchReport.isListDue(startedAt: rootProcess.since, listedAt: listedAt, at: now) {
            listedAt = now
            let tree = root == 0 ? [] : ProcessTree.identities(below: root)
            examine(tree, Set(present.map(\.pid)), selection, at: now)
            if isSilenceDue {
                silenceCheckedAt = now
                reportSilence(of: tree, root, withLoops)
                for message in threadServers.update(present) { messages.add(message) }
            }
        }
        reportShortage()
        let isUndecided =
            present.contains { $0.loops.isEmpty && $0.silence == nil }
            || observations.values.contains {
                switch $0 {
                case .hasLibrary, .isOthers, .notSelected, .failed: false
                case .withoutLibrary, .hasBlindLibrary: true
                }
            }
        let isDue = root != 0 && withLoops.isEmpty && report.isSilenceDue(at: now)
        let command = WatchReport.Command(
            pid: root,
            name: Self.name(of: root),
            isUndecided: isUndecided,
            isGo: isDue && GoProgram.isRun(by: root),
            waiter: isDue ? SilentProcess.waiter(below: root, name: Self.name, isWatched: isWatchable) : nil,
            selection: selection.shown,
            leftOut: selection.includesAll ? [] : leftOut
        )
        for message in report.update(reported, of: command, at: now) { messages.add(message) }
        messages.flushIfShown()
    }

    /// Whether a loop of a process would be watched here.
    private func isWatchable(_ pid: Int32) -> Bool {
        !observations.contains { id, observation in
            switch observation {
            case .isOthers, .notSelected: id.pid == pid
            case .hasLibrary, .withoutLibrary, .hasBlindLibrary, .failed: false
            }
        }
    }

    /// Loops that are not selected, and unselected processes without a known loop.
    private var leftOut: [String] {
        let loops = surroundings.unselected()
        let known = Set(loops.map(\.process))
        let processes = observations.compactMap { id, observation in
            if case .notSelected(let name) = observation, !known.contains(id.pid) { (pid: id.pid, name: name) } else { nil }
        }
        return loops.map { "\($0.name) of \($0.processName) [\($0.process)]" }
            + processes.sorted { $0.pid < $1.pid }.map { "\($0.name) [\($0.pid)]" }
    }

    private func examine(_ tree: [ProcessID], _ watched: Set<Int32>, _ selection: LoopSelection, at now: MonotonicTime) {
        var seen: Set<ProcessID> = []
        for id in tree where !watched.contains(id.pid) && !outside.isWatching(id.pid) {
            let pid = id.pid
            seen.insert(id)
            guard selection.includes(process: pid) else {
                observations[id] = .notSelected(name: ProcessContext.processName(of: pid) ?? "unknown")
                continue
            }
            switch observations[id] {
            case .isOthers: continue
            case .hasLibrary, .hasBlindLibrary: examineBlind(id, at: now)
            case .failed(_, let time) where now - time < retryTime(of: time): continue
            case .withoutLibrary where surroundings.hasLibrary(pid) == true: observations[id] = .hasLibrary
            case .withoutLibrary(let since) where now - since < Self.settlingTime: continue
            case .withoutLibrary, .failed:
                let isBlind = surroundings.hasLibrary(pid) == true
                watchFromOutside(id, isNew: !isRefused(id), because: isBlind ? Self.blindness : nil, at: now)
            case nil, .notSelected:
                observations[id] = surroundings.hasLibrary(pid) == true ? .hasLibrary : .withoutLibrary(since: now)
            }
        }
        observations = observations.filter { seen.contains($0.key) }
        let refused = observations.values.compactMap { if case .failed(let unwatched, _) = $0 { unwatched } else { nil } }
        unwatchedNow.withLock { $0 = refused.sorted { $0.pid < $1.pid } }
    }

    /// What is refused during a start may be permitted a moment later.
    private func retryTime(of time: MonotonicTime) -> Duration {
        time - rootProcess.since < WatchReport.patience ? WatchReport.patience : Self.retryAfter
    }

    private func isRefused(_ id: ProcessID) -> Bool { if case .failed = observations[id] { true } else { false } }

    /// Watches a process from outside if its library has published nothing, but a thread waits for events with other calls.
    private func examineBlind(_ id: ProcessID, at now: MonotonicTime) {
        guard !surroundings.publishes(id.pid), !outside.selection.threads.isEmpty || !GoProgram.isRun(by: id.pid) else {
            observations[id] = .hasLibrary
            return
        }
        guard Int(clr_threads_use(id.pid)) == CLR_THREADS_WAIT else {
            observations[id] = .hasLibrary
            return
        }
        guard case .hasBlindLibrary(let since) = observations[id] else {
            observations[id] = .hasBlindLibrary(since: now)
            return
        }
        let blindTime = WatchReport.blindTime(startedAt: rootProcess.since, at: now)
        if now - since >= blindTime { watchFromOutside(id, isNew: true, because: Self.blindness, at: now) }
    }

    private static let blindness =
        "the library is active, but saw no loop although a thread waits for events: it may make system calls directly"

    private func watchFromOutside(_ id: ProcessID, isNew: Bool, because known: String? = nil, at now: MonotonicTime) {
        let absence: LibraryAbsence? = known == nil ? LibraryAbsence(of: id.pid, table: surroundings.table) : nil
        // The other lagmond watches that process.
        guard absence != .otherMonitor else {
            observations[id] = .isOthers
            return
        }
        let reason = known ?? surroundings.obstacle ?? absence.map { "\($0)" } ?? ""
        let name = Self.name(of: id.pid)
        let message: String
        switch outside.watch(id.pid) {
        case .ended: return
        case .watching: message = "watching \(name) [\(id.pid)] from outside: \(reason)"
        case .failed(let failure):
            let unwatched = Unwatched(pid: id.pid, name: name, reason: "\(reason); nor from outside: \(failure)")
            observations[id] = .failed(unwatched, at: now)
            message = "\(name) [\(id.pid)] is not watched: \(unwatched.reason)"
        }
        guard isNew, linesLeft > 0 else { return }
        linesLeft -= 1
        messages.add(message)
        guard linesLeft == 0 else { return }
        messages.add("more processes without the library, not listed here; /healthz lists those that are not watched")
    }

    // MARK: Silence

    /// Processes without a known loop, although they could be watched: each gets a line, unless it only waits for its children.
    private func reportSilence(of tree: [ProcessID], _ root: Int32, _ watched: Set<Int32>) {
        var found: [ProcessID: Bool] = [:]
        var list: [Unwatched] = []
        let selection = outside.selection
        for id in tree where !watched.contains(id.pid) && isDecided(id) && selection.includes(process: id.pid) {
            let pid = id.pid
            let use = Int(clr_threads_use(pid))
            let isGo = GoProgram.isRun(by: pid)
            let name = Self.name(of: pid)
            // It may have exited since the tree was listed, and none of this is then about it.
            guard ProcessTree.startTicks(of: pid) == id.startTicks else { continue }
            list.append(Unwatched(pid: pid, name: name, reason: SilentProcess.reason(isGo: isGo, use: use)))
            let isReported = silent[id]
            // The command's own process gets its line elsewhere if nothing of it is watched; a Go program's watch reports it.
            let hasLine = pid == root || isGo && outside.isWatching(pid)
            let isDue = isReported == false && !hasLine && use != CLR_THREADS_AWAIT_CHILDREN && silenceLinesLeft > 0
            if isDue {
                silenceLinesLeft -= 1
                messages.add("\(name) [\(pid)] has no event loop so far: \(SilentProcess.reason(isGo: isGo, use: use))")
            }
            found[id] = isReported == true || isDue
        }
        silent = found
        withoutLoopNow.withLock { [list] in $0 = list }
    }

    private func isDecided(_ id: ProcessID) -> Bool {
        guard !outside.isWatching(id.pid) else { return true }
        if case .hasLibrary = observations[id] { return true }
        return false
    }

    /// Loops for which the table had no free slot; nothing else shows them.
    private func reportShortage() {
        guard !isShortageReported, surroundings.refusals() > 0 else { return }
        isShortageReported = true
        let slots = SharedLoopTable.slotCount
        messages.add("more loops than slots in the shared loop table (\(slots)): the others are not watched until a slot is free")
    }

    private static func name(of process: Int32) -> String {
        var name = cll_name()
        if process != 0 { cll_procfs_name(process, process, &name) }
        return withUnsafeBytes(of: name.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
