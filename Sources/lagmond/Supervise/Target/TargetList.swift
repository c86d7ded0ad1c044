internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// The current targets, and the counts of earlier ones. Any thread.
final class TargetList: HttpStatusSource {
    private struct State {
        var targets: [any Target] = []
        /// The targets that are being ended.
        var ending: Set<ObjectIdentifier> = []
        var past = StallMonitorStatistics()
    }

    private let state = Mutex(State())

    var all: [any Target] { state.withLock { $0.targets } }

    /// The targets without those that are being ended.
    var active: [any Target] {
        state.withLock { state in state.targets.filter { !state.ending.contains(ObjectIdentifier($0)) } }
    }

    /// The name of the target whose command a process is part of.
    func commandTarget(of process: Int32) -> String? { active.first { $0.covers(process) }?.settings.name }

    func add(_ target: any Target) { state.withLock { $0.targets.append(target) } }

    /// Marks targets that are about to be ended and then removed.
    func beginRemoving(_ targets: [any Target]) {
        state.withLock { $0.ending.formUnion(targets.map { ObjectIdentifier($0) }) }
    }

    /// Removes a target; its counts stay.
    func remove(_ target: any Target) {
        let counts = target.statistics
        state.withLock { state in
            guard state.targets.contains(where: { $0 === target }) else { return }
            state.targets.removeAll { $0 === target }
            state.ending.remove(ObjectIdentifier(target))
            state.past += counts
        }
    }

    /// If an ending and a new target have the same name, only the new one, so that each name appears once.
    var targets: [TargetStatus] {
        let active = active
        let names = Set(active.map(\.settings.name))
        return (active + all.filter { !names.contains($0.settings.name) }).map(\.status)
    }

    var statistics: StallMonitorStatistics {
        let (targets, past) = state.withLock { ($0.targets, $0.past) }
        return targets.reduce(into: past) { $0 += $1.statistics }
    }

    var lags: [StallCounts.LoopKey: UInt64] {
        all.reduce(into: [:]) { lags, target in lags.merge(target.lags, uniquingKeysWith: max) }
    }

    /// The targets with threads that do not answer within `wait`, and the processes whose own watchdog does not, with their
    /// target. If both are empty, every stall would be detected.
    /// - Parameter pause: called between two polls.
    func unresponsive(within wait: Duration, pause: () -> Void) -> (targets: [String], processes: [String]) {
        var calls = all.map { ($0.settings.name, $0.probeLiveness()) }
        let deadline = MonotonicTime.now + wait
        while true {
            calls.removeAll { $0.1() }
            guard !calls.isEmpty, MonotonicTime.now < deadline else { break }
            pause()
        }
        let targets = calls.filter { !$0.1.haveSharedAnswered }.map(\.0)
        return (targets, calls.flatMap { call in call.1.silentProcesses.map { "\($0) in \(call.0)" } })
    }

    func probeLiveness() -> LivenessProbe.Check { LivenessProbe.Check(all.map { $0.probeLiveness() }) }

    /// One line for the service manager.
    var summary: String {
        let targets = targets
        let running = targets.count { $0.pid != 0 }
        let loops = targets.reduce(0) { $0 + $1.loops }
        let stalls = statistics.stalls
        func count(_ number: some BinaryInteger, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        var text = "\(running) of \(targets.count) targets running, \(count(loops, "loop")) watched, \(count(stalls, "stall"))"
        text += Self.summary(of: targets)
        return text
    }

    /// The targets that do not run.
    static func summary(of targets: [TargetStatus]) -> String {
        var text = ""
        func add(_ what: String, _ isMeant: (TargetStatus) -> Bool) {
            let names = targets.filter(isMeant).compactMap(\.name)
            if !names.isEmpty { text += "; \(what): \(names.joined(separator: ", "))" }
        }
        func isWaiting(_ target: TargetStatus) -> Bool { target.phase == CommandLifecycle.Phase.waiting.rawValue }
        add("to be restarted") { isWaiting($0) && $0.isCommand }
        add("waiting for a process") { isWaiting($0) && !$0.isCommand }
        add("given up") { $0.fault != nil && !isWaiting($0) }
        return text
    }
}
