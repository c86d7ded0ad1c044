internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagDetection
internal import LagModel

/// What all monitors of a process share: one watchdog, one reporter, one registry, the signals. For another process: the parts of
/// its one monitor.
///
/// The first monitor that starts creates these, and the last that stops ends them; then no thread, signal handler or descriptor
/// is left.
final class MonitorEngine: Sendable {
    static let shared = MonitorEngine(target: nil)

    struct Target: Sendable {
        let process: Int32
        /// How running threads of the process are captured.
        let running: any RunningThreadCapture.Type
        /// Posted when one of its beacons answers.
        let semaphore: WakeSemaphore
        /// Reports for its loops, if they publish nothing themselves.
        let externalSampler: (any ExternalSampler)?
        /// Reads the frames of languages; nil: all frames are native ones.
        let languages: (any LanguageFrameSource)?
    }

    private let target: Target?

    init(target: Target?) { self.target = target }

    var isOwn: Bool { target == nil }

    struct Parts: Sendable {
        let registry: WatchRegistry
        let watchdog: Watchdog
        let reporter: Reporter
        fileprivate let relay: PingRelay
        fileprivate let threads: [WorkerThread]
        fileprivate let pingThread: PingThread
        /// The threads of pools; nil for another process.
        let workers: LatePoolWatch?
        /// What the watchdogs before this one noticed.
        fileprivate let earlierPauses: ProcessPauses

        /// The time in which the process could not run, since the first monitor started.
        var pauses: ProcessPauses { earlierPauses + watchdog.processPauses }

        /// Starts the thread that sends pings, if it does not run yet. It exists only when a loop needs it.
        func startPings() throws(StallMonitorError) {
            try pingThread.thread.withLock { thread throws(StallMonitorError) in
                guard thread == nil else { return }
                thread = try WorkerThread(name: "lag-pings", submitsToQueues: true) { [relay] in relay.run() }
            }
        }
    }

    /// The thread that sends pings, once it exists.
    fileprivate final class PingThread: Sendable {
        let thread = PthreadMutex<WorkerThread?>(nil)
    }

    private struct State {
        var parts: Parts?
        var users = 0
        var pauses = ProcessPauses()
    }

    private let state = PthreadMutex(State())

    /// The limit for ending the threads.
    private static let joinNanoseconds: UInt64 = 1_000_000_000

    /// Adds a user. Starts the threads for the first user; returns when stalls will be found.
    func acquire() throws(StallMonitorError) -> Parts {
        try state.withLock { state throws(StallMonitorError) in
            if state.parts == nil { state.parts = try start(after: state.pauses) }
            state.users += 1
            return state.parts!
        }
    }

    /// Removes a user. Ends the threads with the last user; bounded.
    func release() {
        state.withLock { state in
            state.users -= 1
            guard state.users == 0, let parts = state.parts else { return }
            state.parts = nil
            parts.watchdog.stop()
            let hasEnded = parts.threads[1].join(until: clb_now_ns() + Self.joinNanoseconds)
            state.pauses = parts.pauses
            parts.relay.stop()
            parts.workers?.stop(until: clb_now_ns() + Self.joinNanoseconds)
            // It may hang in a loop's ping function; then it is left behind.
            let pings = parts.pingThread.thread.withLock { $0.take() }
            _ = pings?.join(until: clb_now_ns() + Self.joinNanoseconds)
            parts.reporter.stop()
            _ = parts.threads[0].join(until: clb_now_ns() + Self.joinNanoseconds)
            // A watchdog that was left behind may be about to send a signal, which would kill a process without the handler.
            if hasEnded, target == nil { SignalCapture.remove() }
            if target == nil { cll_spare_release() }
        }
    }

    private func start(after earlierPauses: ProcessPauses) throws(StallMonitorError) -> Parts {
        let capture: ThreadCapture
        do throws(CaptureUnavailable) {
            capture = try ThreadCapture(
                process: target?.process,
                running: target?.running ?? SignalCapture.self,
                languages: target?.languages
            )
        } catch {
            throw .captureUnavailable(reason: error.reason)
        }
        capture.modules.makeTables()
        guard let registry = WatchRegistry() else { throw .resources(reason: "no memory for the list of watched loops") }
        guard let queue = EpisodeQueue(maximumFrames: StallMonitorConfiguration.frameCapacity) else {
            throw .resources(reason: "no memory for stalls in progress")
        }
        if target == nil {
            SignalCapture.install()
            cll_spare_retain()
        }
        let throttling = ThrottleSource(process: target?.process)
        let builder = RecordBuilder(modules: capture.modules, throttling: throttling, languages: target?.languages)
        let reporter = Reporter(registry: registry, queue: queue, builder: builder)
        target?.languages?.begin { [weak reporter] in reporter?.wake() }
        let relay = PingRelay(registry: registry)
        let workers = target == nil ? LatePoolWatch(registry: registry) : nil
        let watchdog = Watchdog(
            registry: registry,
            queue: queue,
            capture: capture,
            relay: relay,
            semaphore: target?.semaphore,
            externalSampler: target?.externalSampler ?? workers,
            throttling: throttling
        ) { reporter.wake() }
        let starter = ThreadIdentity.current
        let ready = WakeSemaphore()
        do throws(StallMonitorError) {
            let reporting = try WorkerThread(name: "lag-reporter", submitsToQueues: true) { reporter.run() }
            do throws(StallMonitorError) {
                let watching = try WorkerThread(name: "lag-watchdog", submitsToQueues: false) {
                    watchdog.run(starter: starter) { ready.post() }
                }
                _ = ready.wait(until: .max)
                return Parts(
                    registry: registry,
                    watchdog: watchdog,
                    reporter: reporter,
                    relay: relay,
                    threads: [reporting, watching],
                    pingThread: PingThread(),
                    workers: workers,
                    earlierPauses: earlierPauses
                )
            } catch {
                reporter.stop()
                _ = reporting.join(until: clb_now_ns() + Self.joinNanoseconds)
                throw error
            }
        } catch {
            if target == nil {
                SignalCapture.remove()
                cll_spare_release()
            }
            throw error
        }
    }
}
