internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
package import LagMonitor
package import LagOutput
internal import Synchronization

/// Watches every loop that publishes itself in a table: a monitor for each process, created with its first loop, ended with the
/// process. A stall in which a process died is reported as `abandoned`.
///
/// Two threads: ``SharedLoopTableRelay`` passes on at once what loops publish; the thread of this class starts and ends monitors,
/// which may take long. It sleeps until a loop is added or removed; while there are loops, it checks once a second whether the
/// processes of unmoved loops still exist. Records of all processes go to the same sink.
// Unchecked: only its thread uses the state of `run`; the rest is immutable, atomic or in a Mutex.
package final class SharedLoopTableWatch: @unchecked Sendable {
    /// A process with loops.
    struct Watched {
        let monitor: StallMonitor
        let semaphore: WakeSemaphore
        let startTicks: UInt64
        let handle: ProcessHandle
        let name: String
        /// Its program when it was last found to have the table.
        var image: ProgramImage?
        /// Whether a loop of it was ever counted; otherwise the process is not counted as watched.
        var hasLoops = false
        /// Since when it has no loop.
        var idleSince: UInt64?

        /// Whether it is still that program, as far as known: an exec keeps the process's ID and start time.
        func runs(_ image: ProgramImage?) -> Bool { self.image?.mayBe(image) ?? true }

        func published(_ pid: Int32, with loops: [SharedLoopTableSlot.WatchedLoop]) -> WatchedProcess {
            WatchedProcess(pid: pid, startTicks: startTicks, name: name, loops: loops.map(\.loop))
        }
    }

    package let table: SharedLoopTable
    var configuration: RemoteConfiguration
    private let nextConfiguration = Mutex<RemoteConfiguration?>(nil)
    let sink: any RecordSink
    let processSinks: @Sendable (ProcessContext) -> [any RecordSink]
    let reportError: @Sendable (String) -> Void
    let relay: SharedLoopTableRelay
    var processes: [Int32: Watched] = [:]
    /// The state of the table's slots.
    var slots: [UInt32: SharedLoopTableSlot] = [:]
    /// How many unwatchable claims are reported.
    var refusalLinesLeft = 20
    /// Processes with slots but no watchable loop, whose end would not be noticed otherwise.
    var unwatched: Set<Int32> = []
    /// Slots that were taken at the last check but had no valid loop.
    var unfinished: [UInt32: UInt64] = [:]
    let past = Mutex(StallMonitorStatistics())
    let watching = Mutex<[StallMonitor]>([])
    private let present = Mutex<(watched: [WatchedProcess], provisional: [WatchedProcess])>(([], []))
    private let leftOut = Mutex<[UnselectedLoop]>([])
    private let probe = LivenessProbe()
    let end = EndRequest()
    private let loopCount = Atomic<Int>(0)
    let loopsBegun = Atomic<UInt64>(0)
    private let semaphore = WakeSemaphore()
    private let stopping = Atomic<Bool>(false)
    private let threads = Mutex<[WorkerThread]>([])
    private let checkNanoseconds: UInt64
    private let isCheckRequested = Atomic<Bool>(false)
    /// The minimum time between the beginnings of two scans.
    private static let scanDistanceNanoseconds: UInt64 = 5_000_000
    /// How long a process without a loop keeps its monitor, because it may soon get another loop.
    private static let idleNanoseconds: UInt64 = 5_000_000_000
    /// Each has threads and memory here. As many as the table has slots, because no more can have a loop at the same time.
    static let maximumProcesses = Int(CLB_LOOP_TABLE_SLOTS)

    /// - Parameters:
    ///   - checkNanoseconds: how often it is checked whether the processes still run.
    ///   - processSinks: further sinks of each process, created with its first loop and closed with its watch.
    ///   - reportError: gets a line on what cannot be watched, and why.
    package init(
        table: SharedLoopTable,
        configuration: RemoteConfiguration,
        sink: any RecordSink,
        checkNanoseconds: UInt64 = 1_000_000_000,
        processSinks: @escaping @Sendable (ProcessContext) -> [any RecordSink] = { _ in [] },
        reportError: @escaping @Sendable (String) -> Void
    ) {
        self.table = table
        self.configuration = configuration
        self.sink = sink
        self.checkNanoseconds = checkNanoseconds
        self.processSinks = processSinks
        self.reportError = reportError
        relay = SharedLoopTableRelay(table: table, probe: probe) { [semaphore] in semaphore.post() }
    }

    package func start() throws(StallMonitorError) {
        let managing = try WorkerThread(name: "lag-processes", submitsToQueues: false) { [self] in run() }
        threads.withLock { $0 = [managing] }
        let relaying = try WorkerThread(name: "lag-loop-table", submitsToQueues: false) { [relay] in relay.run() }
        threads.withLock { $0.append(relaying) }
    }

    /// Ends every watch. Stalls in progress become `abandoned` lines. Takes some milliseconds; ten seconds at most if the sink
    /// hangs.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        semaphore.post()
        let deadline = clb_now_ns() + 10_000_000_000
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        _ = threads.first?.join(until: deadline)
        relay.stop()
        for thread in threads.dropFirst() { _ = thread.join(until: deadline) }
    }

    /// The counts of all processes that are no longer watched.
    package var statistics: StallMonitorStatistics { past.withLock { $0 } }

    /// Stalls of the currently watched processes that were found but not yet reported.
    package var stallsInProgress: UInt64 {
        watching.withLock { monitors in
            monitors.reduce(0) { sum, monitor in
                let statistics = monitor.statistics
                return sum + (statistics.stalls > statistics.reported ? statistics.stalls - statistics.reported : 0)
            }
        }
    }

    /// The processes that are watched now, with their loops. Any thread.
    package var watchedProcesses: [WatchedProcess] { present.withLock { $0.watched } }

    /// Processes with threads that may turn out to be loops (``RemoteLoop/isConfirmed``), with only these. Any thread.
    package var provisionalProcesses: [WatchedProcess] { present.withLock { $0.provisional } }

    /// Both of one moment: each loop is in one of them, also when it turns out to be one. Any thread.
    package var watchedAndProvisionalProcesses: [WatchedProcess] { present.withLock { $0.watched + $0.provisional } }

    /// Known loops that are currently not selected. Any thread.
    package var unselectedLoops: [UnselectedLoop] { leftOut.withLock { $0 } }

    /// The counts of all processes, including those that are watched now.
    package var totalStatistics: StallMonitorStatistics {
        // Past counts first, so that counts that move meanwhile are reported late rather than twice.
        var sum = past.withLock { $0 }
        for monitor in watching.withLock({ $0 }) { sum += monitor.statistics }
        return sum
    }

    /// Sets what counts as a stall from now on. Watches in progress restart: a stall in progress becomes an `abandoned` line and,
    /// under the new rules, possibly another stall. Any thread; returns at once.
    package func configure(_ configuration: RemoteConfiguration) {
        nextConfiguration.withLock { $0 = configuration }
        semaphore.post()
    }

    /// Checks now whether the processes still run, because one has exited: until it is noticed, a stall in it would continue. Any
    /// thread; returns at once.
    package func checkProcesses() {
        isCheckRequested.store(true, ordering: .releasing)
        semaphore.post()
    }

    /// Reopens a sink's destination, serialised with its writers. Waits for a write in progress. Any thread.
    package static func reopen(_ sink: any RecordSink) throws(SinkError) { try NonClosingSink(sink).reopen() }

    /// Writes a `begin` line for each stall in progress that had begun when the processes were asked to end. Any thread; waits
    /// for watches that are just beginning or ending.
    package func reportStalls(begunBefore time: MonotonicTime) {
        end.record(at: time)
        for monitor in watching.withLock({ $0 }) { monitor.reportStalls(begunBefore: time) }
    }

    /// Probes every thread that is needed to notice a stall. Any thread; returns at once.
    package func probeLiveness() -> LivenessProbe.Check {
        let watchdogs = watching.withLock { $0 }.map {
            (process: $0.processLabel, hasAnswered: LivenessProbe.ask(watchdogOf: $0))
        }
        let number = probe.request()
        semaphore.post()
        table.wake()
        return LivenessProbe.Check(shared: { [probe] in probe.isAnswered(number) }, watchdogs: watchdogs)
    }

    /// Loops that are watched now, without those that currently do not count.
    package var watchedLoops: Int { loopCount.load(ordering: .relaxed) }

    /// The number of loops whose watch has begun so far, without threads that wait for time alone.
    package var begunLoops: UInt64 { loopsBegun.load(ordering: .relaxed) }

    /// Whether a process has the table, like one in which the library is active; nil: unknown. Any thread; reads two files of
    /// `/proc`.
    package func isMapped(in process: Int32) -> Bool? {
        switch table.owner(of: process, stackPointer: 0) {
        case .found(let owner): owner.mapsTable
        case .gone, .unknown: nil
        }
    }

    private func run() {
        var checked: UInt64 = 0
        while !stopping.load(ordering: .acquiring) {
            semaphore.drain()
            let call = probe.present
            takeConfiguration()
            let now = clb_now_ns()
            if now &- checked >= checkNanoseconds || isCheckRequested.exchange(false, ordering: .acquiring) {
                checked = now
                table.checkClock()
                endExitedProcesses()
                freeUnfinishedClaims()
                forgetSelection()
                endIdleProcesses(at: now, after: Self.idleNanoseconds)
            }
            scan()
            let counted = slots.values.count { $0.watched.map { $0.isConfirmed && !$0.isPaused } ?? false }
            loopCount.store(counted, ordering: .relaxed)
            publishProcesses()
            probe.answer(call, by: .manager)
            let isIdle =
                processes.isEmpty && unwatched.isEmpty && !slots.values.contains(where: \.isToBeTriedAgain)
                && table.unfinishedClaims.isEmpty
            _ = semaphore.wait(until: min(settlingDeadline, isIdle ? .max : checked &+ checkNanoseconds))
            // Any process with the table can trigger a scan at any time.
            let next = now &+ Self.scanDistanceNanoseconds
            if clb_now_ns() < next, !stopping.load(ordering: .acquiring) { SharedLoopTableRelay.sleep(until: next) }
        }
        for process in Array(processes.keys) { end(process) }
        publishProcesses()
    }

    private func publishProcesses() {
        let slots = slots.sorted { $0.key < $1.key }.map(\.value)
        let loops = Dictionary(grouping: slots.compactMap(\.watched), by: \.process)
        var (now, candidates): ([WatchedProcess], [WatchedProcess]) = ([], [])
        for (pid, process) in processes.sorted(by: { $0.key < $1.key }) {
            let found = loops[pid, default: []]
            let confirmed = found.filter(\.isConfirmed)
            let provisional = found.filter { !$0.isConfirmed && !$0.isPaused }
            if process.hasLoops { now.append(process.published(pid, with: confirmed)) }
            if !provisional.isEmpty { candidates.append(process.published(pid, with: provisional)) }
        }
        present.withLock { $0 = (now, candidates) }
        let unselected = slots.compactMap(\.unselected).filter { !$0.isProvisional }
        leftOut.withLock { $0 = unselected }
    }

    /// Each process gets a new monitor; its loops keep their slots. With another selection, the following scan begins all
    /// watches.
    private func takeConfiguration() {
        guard let next = nextConfiguration.withLock({ $0.take() }) else { return }
        let isSelectionSame = next.selection == configuration.selection
        configuration = next
        forgetSelection()
        for (process, watched) in processes {
            let loops = stop(process, watched)
            guard isSelectionSame else { continue }
            do throws(StallMonitorError) {
                var made = try make(process, startTicks: watched.startTicks)
                made.hasLoops = watched.hasLoops
                processes[process] = made
                for (index, before) in loops {
                    let loop = before.loop
                    try made.monitor.watch(loop, rules: loop.isFromMonitor ? nil : configuration.preloadRules)
                    slots[index] = .watched(.init(loop, of: process, after: before))
                    relay.pass(loop, to: made.semaphore, at: index)
                }
            } catch {
                reportError("cannot watch process \(process) any more: \(error)")
                if let made = processes[process] { stop(process, made) }
            }
        }
    }
}
