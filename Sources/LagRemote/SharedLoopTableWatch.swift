internal import CLagBeacon
internal import Glibc
internal import LagActivity
internal import LagDetection
package import LagMonitor
package import LagOutput
internal import Synchronization

/// Watches every loop that publishes itself in a table: a monitor for each process, made when its first loop comes, ended when the
/// process does. What a process was stalled in when it died comes out as `abandoned`.
///
/// Two threads: ``SharedLoopTableRelay`` passes on what loops publish, at once; this one's starts and ends monitors, which may take long. It sleeps until a
/// loop comes or goes; while there are loops it checks once a second whether the processes of those that have not moved are still there.
/// Records of all processes go to the same sink.
// Unchecked: what `run` uses is touched by its thread alone; the rest is immutable, atomic or in a Mutex.
package final class SharedLoopTableWatch: @unchecked Sendable {
    /// A process with loops.
    struct Watched {
        let monitor: StallMonitor
        let semaphore: WakeSemaphore
        let startTicks: UInt64
        let handle: ProcessHandle
        let name: String
        /// Which program it was when it was last found to have the table.
        var image: ProgramImage?
        /// Whether a loop of it was ever counted: a process without is no watched one.
        var hasLoops = false
        /// Since when it has no loop.
        var idleSince: UInt64?

        /// Whether it still is that program, as far as is known: an exec keeps the process's number and its start.
        func runs(_ image: ProgramImage?) -> Bool {
            guard let image, image.isKnown, let known = self.image, known.isKnown else { return true }
            return image == known
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
    /// What is known of the table's slots.
    var slots: [UInt32: SharedLoopTableSlot] = [:]
    /// Claims that cannot be watched are complained of so often.
    var refusalLinesLeft = 20
    /// Processes that have slots and no loop to be watched: their end would not be noticed otherwise.
    var unwatched: Set<Int32> = []
    /// Slots that were taken at the last check and showed no loop.
    var unfinished: [UInt32: UInt64] = [:]
    let past = Mutex(StallMonitorStatistics())
    let watching = Mutex<[StallMonitor]>([])
    private let present = Mutex<[WatchedProcess]>([])
    private let leftOut = Mutex<[UnselectedLoop]>([])
    private let probe = LivenessProbe()
    let end = EndRequest()
    private let loopCount = Atomic<Int>(0)
    let loopsBegun = Atomic<UInt64>(0)
    private let semaphore = WakeSemaphore()
    private let stopping = Atomic<Bool>(false)
    private let threads = Mutex<[WorkerThread]>([])
    private static let checkNanoseconds: UInt64 = 1_000_000_000
    /// Between the beginnings of two scans.
    private static let scanDistanceNanoseconds: UInt64 = 5_000_000
    /// A process without a loop keeps its monitor for so long: it may get another one soon.
    private static let idleNanoseconds: UInt64 = 5_000_000_000
    /// Each has threads and memory here. As many as the table has places: more can have a loop at no moment.
    static let maximumProcesses = Int(CLB_LOOP_TABLE_SLOTS)

    /// - Parameters:
    ///   - processSinks: further sinks of each process, made when its first loop comes and closed with its watch.
    ///   - reportError: gets a line on what cannot be watched, and why.
    package init(
        table: SharedLoopTable,
        configuration: RemoteConfiguration,
        sink: any RecordSink,
        processSinks: @escaping @Sendable (ProcessContext) -> [any RecordSink] = { _ in [] },
        reportError: @escaping @Sendable (String) -> Void
    ) {
        self.table = table
        self.configuration = configuration
        self.sink = sink
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

    /// Ends every watch. Stalls in progress become `abandoned` lines. Some milliseconds; ten seconds at most, where the sink hangs.
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

    /// The counts of all processes that are not watched any more.
    package var statistics: StallMonitorStatistics { past.withLock { $0 } }

    /// Stalls of the processes that are watched now, found so far and not reported.
    package var stallsInProgress: UInt64 {
        watching.withLock { monitors in
            monitors.reduce(0) { sum, monitor in
                let statistics = monitor.statistics
                return sum + (statistics.stalls > statistics.reported ? statistics.stalls - statistics.reported : 0)
            }
        }
    }

    /// The processes that are watched now, with their loops. Any thread.
    package var watchedProcesses: [WatchedProcess] { present.withLock { $0 } }

    /// Loops that the selection leaves out now, without what may not be a loop. Any thread.
    package var unselectedLoops: [UnselectedLoop] { leftOut.withLock { $0 } }

    /// The counts of all processes, those that are watched now among them.
    package var totalStatistics: StallMonitorStatistics {
        // Past first: what moves from one to the other meanwhile is reported late rather than twice.
        var sum = past.withLock { $0 }
        for monitor in watching.withLock({ $0 }) { sum += monitor.statistics }
        return sum
    }

    /// From now on this counts as a stall. Watches in progress begin anew: a stall that goes on becomes an `abandoned` line and, when the
    /// new rules say so, another one. Any thread; returns at once.
    package func configure(_ configuration: RemoteConfiguration) {
        nextConfiguration.withLock { $0 = configuration }
        semaphore.post()
    }

    /// Opens a sink's destination anew, in turn with those that write to it. Waits for a write in progress. Any thread.
    package static func reopen(_ sink: any RecordSink) throws(SinkError) { try NonClosingSink(sink).reopen() }

    /// Has a `begin` line written of each stall in progress that had begun by then, when the processes were asked to end. Any thread; waits for
    /// watches that begin or end just now.
    package func reportStalls(begunBefore time: MonotonicTime) {
        end.record(at: time)
        for monitor in watching.withLock({ $0 }) { monitor.reportStalls(begunBefore: time) }
    }

    /// Asks every thread that a stall needs to be noticed whether it is there. Any thread; returns at once.
    package func probeLiveness() -> LivenessProbe.Check {
        let watchdogs = watching.withLock { $0 }.map {
            (process: $0.processLabel, hasAnswered: LivenessProbe.ask(watchdogOf: $0))
        }
        let number = probe.request()
        semaphore.post()
        table.wake()
        return LivenessProbe.Check(shared: { [probe] in probe.isAnswered(number) }, watchdogs: watchdogs)
    }

    /// Loops that are watched now, those left out that do not count at present.
    package var watchedLoops: Int { loopCount.load(ordering: .relaxed) }

    /// Loops whose watch has begun so far.
    package var begunLoops: UInt64 { loopsBegun.load(ordering: .relaxed) }

    /// Whether a process has the table, as one has in which the library is active; nil: the kernel does not say. Any thread; two files of `/proc`.
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
            if now &- checked >= Self.checkNanoseconds {
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
            _ = semaphore.wait(until: min(settlingDeadline, isIdle ? .max : checked &+ Self.checkNanoseconds))
            // Whoever has the table can have a scan made whenever it likes.
            let next = now &+ Self.scanDistanceNanoseconds
            if clb_now_ns() < next, !stopping.load(ordering: .acquiring) { SharedLoopTableRelay.sleep(until: next) }
        }
        for process in Array(processes.keys) { end(process) }
        publishProcesses()
    }

    private func publishProcesses() {
        let now = processes.filter(\.value.hasLoops).map { process, watched in
            WatchedProcess(
                pid: process,
                startTicks: watched.startTicks,
                name: watched.name,
                loops: loops(of: process).filter(\.watched.isConfirmed).sorted { $0.index < $1.index }.map(\.watched.loop)
            )
        }
        present.withLock { $0 = now.sorted { $0.pid < $1.pid } }
        let unselected = slots.sorted { $0.key < $1.key }.compactMap(\.value.unselected).filter { !$0.isProvisional }
        leftOut.withLock { $0 = unselected }
    }

    /// Each process gets a new monitor; its loops keep their places. With another selection the scan that follows begins all.
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
                    slots[index] = .watched(.init(loop, of: process, isConfirmed: before.isConfirmed))
                    relay.pass(loop, to: made.semaphore, at: index)
                }
            } catch {
                reportError("cannot watch process \(process) any more: \(error)")
                if let made = processes[process] { stop(process, made) }
            }
        }
    }
}
