internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagDetection
package import LagMonitor
package import LagOutput
internal import Synchronization

/// Watches the loops of an already running process, without its cooperation, until it exits.
///
/// One thread finds the loops and notices the process's exit; another, the watchdog, samples them (``KernelSampler``). The
/// process is neither stopped nor changed. A thread that stalls on a processor is sampled by the kernel, or stopped for some µs
/// while its stack is copied. A thread that may be iterating unseen is stopped at its system calls (clr_iteration_check.h).
/// However this process ends, the kernel releases stopped threads.
// Unchecked: only its thread uses the state of `run`; the rest is immutable, atomic or in a Mutex.
package final class AttachWatch: @unchecked Sendable {
    package let process: Int32
    /// The threads that were named as loops; empty: search for loops.
    private let named: [Int32]
    private let configuration: RemoteConfiguration
    private let sink: any RecordSink
    private let processSinks: @Sendable (ProcessContext) -> [any RecordSink]
    private let mayCount: Bool
    private let reportError: @Sendable (String) -> Void
    private let handle: ProcessHandle

    private let wait = ExitWait()
    private let stopping = Atomic<Bool>(false)
    private let hasEnded = Atomic<Bool>(false)
    private let currentProcess = Mutex<WatchedProcess?>(nil)
    private let loopsBegun = Atomic<UInt64>(0)
    private let probe = LivenessProbe()
    private let end = EndRequest()
    private let past = Mutex(StallMonitorStatistics())
    private let present = Mutex<StallMonitor?>(nil)
    private let thread = Mutex<WorkerThread?>(nil)

    /// At first, loops are searched at this pace, so that most are known within a second; then once a second.
    private static let eagerNanoseconds: UInt64 = 50_000_000
    private static let eagerRounds = 40
    private static let roundNanoseconds: UInt64 = 1_000_000_000
    private static let shareOfRound: UInt64 = 20
    private static let longestPauseNanoseconds: UInt64 = 10_000_000_000
    /// After this time without a loop, that is reported.
    private static let patienceNanoseconds: UInt64 = 5_000_000_000
    /// After this many rounds in which the process is not selected, that is reported.
    private static let roundsUnselected = 5

    /// - Parameters:
    ///   - loops: the only threads to watch; empty: those that rest in waits for events.
    ///   - mayCount: false: a thread is stopped to see whether it iterates, even if a counter is available.
    ///   - reportError: gets a line on what cannot be watched, and why.
    /// - Throws: ``AttachRefusal``.
    package init(
        process: Int32,
        loops: [Int32] = [],
        configuration: RemoteConfiguration,
        sink: any RecordSink,
        processSinks: @escaping @Sendable (ProcessContext) -> [any RecordSink] = { _ in [] },
        mayCount: Bool = true,
        reportError: @escaping @Sendable (String) -> Void
    ) throws(AttachRefusal) {
        // First, so that everything that follows concerns this very process.
        handle = ProcessHandle(process, end: end)
        guard handle.descriptor >= 0 else {
            let code = -handle.descriptor
            if code == ESRCH || code == EINVAL { throw .noProcess(process) }
            let reason = "pidfd_open: \(String(cString: strerror(code)))"
            throw .notPermitted(process, reason: reason, remedy: "a filter that allows it, or Linux 5.3 or newer")
        }
        try AttachPermission(process: process).check(loops: loops)
        self.process = process
        named = loops
        self.configuration = configuration
        self.sink = sink
        self.processSinks = processSinks
        self.mayCount = mayCount
        self.reportError = reportError
    }

    package func start() throws(StallMonitorError) {
        let started = try WorkerThread(name: "lag-attached", submitsToQueues: false) { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Requests the end of the watch; ``stop()`` waits for it.
    package func requestStop() {
        stopping.store(true, ordering: .releasing)
        wait.post()
    }

    /// Ends the watch. A stall in progress becomes an `abandoned` line. Takes some milliseconds; ten seconds at most if the sink
    /// hangs.
    package func stop() {
        requestStop()
        _ = thread.withLock { $0.take() }?.join(until: clb_now_ns() + 10_000_000_000)
    }

    /// Whether the process has exited, and everything about it has been reported.
    package var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    package var statistics: StallMonitorStatistics {
        var sum = past.withLock { $0 }
        if let monitor = present.withLock({ $0 }) { sum += monitor.statistics }
        return sum
    }

    /// Makes the sink reopen its file, for log rotation.
    package func reopenSink() { present.withLock { $0 }?.reopenSinks() }

    /// Writes a `begin` line for each stall in progress that had begun when the process was asked to end. Any thread; waits for a
    /// watch that is just beginning or ending.
    package func reportStalls(begunBefore time: MonotonicTime) {
        end.record(at: time)
        present.withLock { $0 }?.reportStalls(begunBefore: time)
    }

    /// The loops that are watched now.
    package var watchedLoops: Int { currentProcess.withLock { $0?.loops.count ?? 0 } }

    /// The number of loops whose watch has begun so far, without threads that wait for time alone.
    package var begunLoops: UInt64 { loopsBegun.load(ordering: .relaxed) }

    /// The process with its loops; nil while it is not watched. Any thread.
    package var watchedProcess: WatchedProcess? { currentProcess.withLock { $0 } }

    /// Probes every thread that is needed to notice a stall. Any thread; returns at once.
    package func probeLiveness() -> LivenessProbe.Check {
        let watchdogs = present.withLock { $0 }.map { monitor in
            [(process: monitor.processLabel, hasAnswered: LivenessProbe.ask(watchdogOf: monitor))]
        }
        let number = probe.request()
        wait.post()
        return LivenessProbe.Check(shared: { [probe] in probe.isAnswered(number) }, watchdogs: watchdogs ?? [])
            .expected { [self] in !isOver }
    }

    private func run() {
        var image: ProgramImage?
        var rounds = 0
        while !stopping.load(ordering: .acquiring), isAlive {
            guard configuration.selection.includes(process: process) else {
                rounds += 1
                passOver(rounds)
                continue
            }
            // After an exec it is another program, with other loops and mappings.
            let before = image
            image = ProgramImage(of: process) ?? image
            if ProgramFormat.is32Bit(process) {
                if image != before { reportError("\(AttachRefusal.program32Bit(process)): nothing is watched so far") }
                passOver()
                continue
            }
            watchImage(image)
        }
        hasEnded.store(true, ordering: .releasing)
    }

    /// A process that is not selected may get a selected name, by exec or otherwise.
    private func passOver(_ round: Int) {
        if round == Self.roundsUnselected {
            let name = ProcessContext.processName(of: process) ?? "unknown"
            let patterns = configuration.selection.shown
            reportError("process \(process): its name, \(name), is not selected (\(patterns)): nothing is watched so far")
        }
        passOver()
    }

    private func passOver() {
        probe.answer(probe.present, by: .manager)
        probe.answer(probe.present, by: .relay)
        waitForEnd(Self.roundNanoseconds)
    }

    private var isAlive: Bool { handle.isAlive }

    /// Runs until the process exits, starts another program, or must no longer be watched.
    private func watchImage(_ image: ProgramImage?) {
        var image = image
        let timeouts = configuration.preloadRules.callout ?? StallRules.Timeouts()
        let view = KernelSampler(threshold: UInt64(timeouts.threshold.wholeNanoseconds))
        let wake = WakeSemaphore()
        let context = configuration.context(of: process)
        var startTicks: UInt64 = 0
        _ = cll_procfs_start_ticks(process, &startTicks)
        let monitor = configuration.makeMonitor(
            of: context,
            semaphore: wake,
            externalSampler: view,
            sink: sink,
            processSinks: processSinks,
            reportError: reportError
        )
        do throws(StallMonitorError) {
            try monitor.start()
        } catch {
            reportError("cannot watch process \(process): \(error)")
            return stopping.store(true, ordering: .releasing)
        }
        present.withLock { $0 = monitor }
        var search = LoopSearch(
            process: handle,
            named: named,
            selection: configuration.selection,
            // After one interval, a thread may be stopped to find out.
            hold: UInt64(timeouts.interval.wholeNanoseconds),
            mayCount: mayCount,
            semaphore: wake
        )
        var rounds = 0
        let patientUntil = clb_now_ns() + (search.isLeftAlone ? 0 : Self.patienceNanoseconds)
        var silence: String?
        // The threads that are known to be loops, and those that are counted.
        var (confirmed, counted): (Set<Int32>, Set<Int32>) = ([], [])
        while !stopping.load(ordering: .acquiring), isAlive, ProgramImage.isSame(&image, in: process) {
            let call = probe.present
            let begun = clb_now_ns()
            for loop in search.scan() { begin(loop, monitor, view, &search) }
            for loop in search.takeEnded() {
                monitor.unwatch(loop)
                view.remove(loop)
                confirmed.remove(loop.thread.tid)
                // It never was a loop.
                if loop.candidacy.restsAt != nil, counted.remove(loop.thread.tid) != nil {
                    loopsBegun.subtract(1, ordering: .relaxed)
                }
            }
            let loops = search.known
            counted.formIntersection(loops.map(\.thread.tid))
            for loop in loops {
                // Its first stalls may be withheld.
                if confirmed.insert(loop.thread.tid).inserted { monitor.reportConfirmed() }
                if loop.waitsForTimeAlone {
                    if counted.remove(loop.thread.tid) != nil { loopsBegun.subtract(1, ordering: .relaxed) }
                } else if counted.insert(loop.thread.tid).inserted {
                    loopsBegun.add(1, ordering: .relaxed)
                }
            }
            if let omission = search.takeOmission() { reportError(omission) }
            if silence == nil, clb_now_ns() >= patientUntil, loops.allSatisfy(\.waitsForTimeAlone) {
                let message = search.nothingFound
                silence = message
                reportError("process \(process): \(message)")
            }
            let now = WatchedProcess(
                pid: process,
                startTicks: startTicks,
                name: context.processName,
                loops: loops,
                silence: loops.allSatisfy(\.waitsForTimeAlone) ? silence : nil
            )
            currentProcess.withLock { $0 = now }
            probe.answer(call, by: .manager)
            probe.answer(call, by: .relay)
            rounds += 1
            // With a thousand threads a round takes long, so it is done less often.
            let pause = min(Self.shareOfRound * (clb_now_ns() - begun), Self.longestPauseNanoseconds)
            waitForEnd(
                rounds < Self.eagerRounds
                    ? min(max(pause, Self.eagerNanoseconds), Self.roundNanoseconds) : max(pause, Self.roundNanoseconds)
            )
        }
        currentProcess.withLock { $0 = nil }
        monitor.stop()
        present.withLock { $0 = nil }
        past.withLock { $0 += monitor.statistics }
    }

    /// Waits until the process exits, a stop or an answer is requested, or that time.
    private func waitForEnd(_ nanoseconds: UInt64) {
        wait.wait(for: handle.descriptor, until: clb_now_ns() + nanoseconds)
    }

    private func begin(_ loop: AttachedLoop, _ monitor: StallMonitor, _ view: KernelSampler, _ search: inout LoopSearch) {
        do throws(StallMonitorError) {
            // Sampled once before it is watched, because it may have been working for long.
            view.add(loop)
            try monitor.watch(loop, rules: configuration.preloadRules)
        } catch {
            view.remove(loop)
            search.exclude(loop)
            reportError("cannot watch thread \(loop.thread.tid) of process \(process): \(error)")
        }
    }
}
