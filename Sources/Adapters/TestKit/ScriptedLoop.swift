internal import CLagBeacon
public import LagActivity
internal import LagMonitor
internal import Synchronization

/// A loop of which only the beacon exists: a test controls when it works and when it is idle, in the test's time.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorTestKit
///
/// let loop = kit.loop("main")
/// loop.work(for: .milliseconds(400))                                  // one stall
/// loop.work(for: .milliseconds(20), times: 60)                        // many short callbacks: starvation
/// loop.work(for: .seconds(1), ScriptedWork(.lock, in: ["Cache.load()", "main"]))
/// ```
///
/// One thread at a time. It is watched until its ``TestMonitor`` stops or is released.
public final class ScriptedLoop: PingableLoop, Sendable {
    private struct State {
        /// Its work, with the beginning and end of each; the last may be in progress.
        var history: [(since: UInt64, until: UInt64, work: ScriptedWork)] = []
        var ignoresPings = false
        var isPinged = false
    }

    public let name: String
    public let beacon = ActivityBeacon()
    private let monitor: ManualMonitor
    private let state = Mutex(State())

    /// How many callbacks of its work are remembered.
    private static let historyCapacity = 4096

    init(name: String, monitor: ManualMonitor) {
        self.name = name
        self.monitor = monitor
    }

    /// None: 0.
    public var thread: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }
    public var pingsWithoutLocking: Bool { true }
    public func modeName(_ number: UInt32) -> String? { number == 0 ? nil : "default" }

    /// Runs callbacks one after the other without idling in between, then becomes idle. Time passes meanwhile, for the other
    /// loops, too.
    /// - Parameters:
    ///   - duration: how long each of them takes.
    ///   - times: the number of callbacks.
    public func work(for duration: Duration, _ work: ScriptedWork = .init(), times: Int = 1) {
        for _ in 0..<max(0, times) {
            begin(work)
            monitor.advance(by: UInt64(max(0, duration.wholeNanoseconds)))
        }
        end()
    }

    /// Begins a callback, which lasts until the next one or until ``end()``: so several loops can work at once.
    public func begin(_ work: ScriptedWork = .init()) {
        endCurrentWork()
        state.withLock { state in
            state.history.append((since: monitor.now, until: .max, work: work))
            if state.history.count > Self.historyCapacity { state.history.removeFirst() }
        }
        monitor.publishActivity(of: beacon) { now in
            if beacon.activity.isWorking {
                beacon.begin(.beforeSources, at: now)
            } else {
                beacon.wake(.beforeSources, at: now)
            }
        }
    }

    /// Becomes idle. What is to be reported about its work is reported now.
    public func end() {
        endCurrentWork()
        monitor.publishActivity(of: beacon) { now in
            if beacon.activity.isWorking { beacon.begin(.beforeWaiting, at: now) }
            beacon.publish(.waiting)
        }
        answer()
        monitor.poll()
    }

    /// Answers no ping for this long, whatever activity it publishes: ``StallRules/pingWhileWaiting`` and ``StallRules/ping``
    /// find this.
    public func ignorePings(for duration: Duration, _ work: ScriptedWork = .init()) {
        let since = monitor.now
        state.withLock { $0.ignoresPings = true }
        monitor.advance(by: UInt64(max(0, duration.wholeNanoseconds)))
        state.withLock { state in
            state.ignoresPings = false
            state.history.append((since: since, until: monitor.now, work: work))
        }
        answer()
        monitor.poll()
    }

    /// Called by the monitor.
    public func ping() {
        state.withLock { $0.isPinged = true }
        answer()
    }

    /// Answers a ping, if there is one and nothing prevents it.
    private func answer() {
        let answers = state.withLock { state in
            guard state.isPinged, !state.ignoresPings, !beacon.activity.isWorking else { return false }
            state.isPinged = false
            return true
        }
        if answers { clb_beacon_pong(beacon.raw, monitor.now) }
    }

    private func endCurrentWork() {
        state.withLock { state in
            guard let last = state.history.indices.last, state.history[last].until == .max else { return }
            state.history[last].until = monitor.now
        }
    }

    /// Its main work in this period.
    func work(since: UInt64, for nanoseconds: UInt64) -> ScriptedWork {
        state.withLock { state in
            func overlap(_ done: (since: UInt64, until: UInt64, work: ScriptedWork)) -> Int64 {
                let until = min(done.until, since &+ max(1, nanoseconds))
                return Int64(clamping: until) - Int64(clamping: max(done.since, since))
            }
            return state.history.max { overlap($0) < overlap($1) }?.work ?? ScriptedWork()
        }
    }
}
