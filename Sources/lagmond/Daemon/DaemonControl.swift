internal import Dispatch
internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import LagWorkload

/// The main thread of a run with targets: waits for signals and for the time, tells the service manager, reloads, and ends everything.
struct DaemonControl {
    private var settings: Settings
    private let surroundings: TargetSurroundings
    private let list: TargetList
    private let manager: ServiceManager?
    private let service: HttpService?
    private let reload: () throws(SettingsError) -> Settings
    private let deadline: MonotonicTime
    /// Targets come and go here, one change after the other.
    private let changes = DispatchQueue(label: "lagmond.targets")
    private var status = ""
    /// Whose watch did not answer when it was last asked.
    private var silent: [String] = []

    /// How often what the manager shows is looked at.
    private static let statusPeriod: Duration = .seconds(10)
    private static let answerPause: UInt32 = 2000

    init(
        settings: Settings,
        surroundings: TargetSurroundings,
        list: TargetList,
        manager: ServiceManager?,
        service: HttpService?,
        reload: @escaping () throws(SettingsError) -> Settings
    ) {
        self.settings = settings
        self.surroundings = surroundings
        self.list = list
        self.manager = manager
        self.service = service
        self.reload = reload
        deadline = settings.duration.map { .now + $0 } ?? .distantFuture
    }

    consuming func run(_ signals: StopSignals) -> Never {
        manager?.tell("READY=1")
        let beat = manager?.watchdog.map { $0 / 2 }
        var nextBeat = beat == nil ? MonotonicTime.distantFuture : .now
        var nextStatus = manager == nil ? MonotonicTime.distantFuture : .now
        while true {
            switch signals.wait(until: min(deadline, nextBeat, nextStatus)) {
            case .stop: end()
            case .reopen:
                takeUpSettings()
                // When those that were added run.
                if manager != nil { nextStatus = .now + .seconds(1) }
            case .child: if areOver { end() }
            case .timeOver: if MonotonicTime.now >= deadline { end() }
            }
            if let beat, MonotonicTime.now >= nextBeat {
                nextBeat = .now + beat
                tellAlive(within: beat / 2)
            }
            if manager != nil, MonotonicTime.now >= nextStatus {
                nextStatus = .now + Self.statusPeriod
                tellStatus()
            }
        }
    }

    private var areOver: Bool { list.staying.allSatisfy { $0.end != nil } }

    // MARK: What the service manager is told

    /// Only while every thread that a stall needs to be noticed comes round.
    private mutating func tellAlive(within wait: Duration) {
        let found = list.silent(for: wait) { usleep(Self.answerPause) }
        if found.isEmpty { manager?.tell("WATCHDOG=1") }
        if found != silent, !found.isEmpty {
            Diagnostics.say(
                "the watch of \(found.joined(separator: ", ")) does not answer; the service manager is not told that all is well"
            )
        }
        silent = found
    }

    private mutating func tellStatus() {
        let text = list.summary
        guard text != status else { return }
        status = text
        manager?.tell("STATUS=\(text)")
    }

    // MARK: SIGHUP

    private mutating func takeUpSettings() {
        manager?.tellReloading()
        reopenOutput()
        do throws(SettingsError) {
            let next = try reload()
            do throws(StartFailure) {
                try change(to: next)
            } catch {
                refuse([error.message])
            }
        } catch {
            refuse(error.problems.map { "\($0)" })
        }
        manager?.tell("READY=1")
    }

    private func refuse(_ problems: [String]) {
        for problem in problems { Diagnostics.say(problem) }
        Diagnostics.say("not reloaded: everything stays as it was")
    }

    /// On a thread of its own: a disk that hangs is no reason to hang here.
    private func reopenOutput() {
        let sink = surroundings.sink
        try? WorkerThread.start {
            do throws(SinkError) { try PageWatch.reopen(sink) } catch { Diagnostics.say("output: \(error)") }
        }
    }

    /// Checked in full before anything is changed.
    private mutating func change(to next: Settings) throws(StartFailure) {
        guard !next.targets.isEmpty else {
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "targets: missing (allowed: at least one, while lagmond runs)"
            )
        }
        try next.refuseWithoutEffect(on: .targets)
        let present = list.staying
        var fresh: [any Target] = []
        var kept: [(any Target, TargetSettings)] = []
        for settings in next.targets {
            if let target = present.first(where: { $0.settings.name == settings.name && $0.settings.kind == settings.kind }),
                target.end == nil
            {
                _ = try settings.monitor.forCommand(choosesRules: settings.choosesRules, settings.policy)
                kept.append((target, settings))
            } else {
                fresh.append(try surroundings.makeTarget(settings))
            }
        }
        for text in next.needsNewStart(after: settings) { Diagnostics.say("\(text): takes effect with the next start") }
        let gone = present.filter { target in !kept.contains { $0.0 === target } }
        for (target, settings) in kept {
            do throws(StartFailure) { _ = try target.change(to: settings) } catch { Diagnostics.say(error.message) }
        }
        exchange(gone, for: fresh)
        settings = next
        let counts = [(fresh.count, "started"), (gone.count, "stopped"), (kept.count, "kept")].filter { $0.0 > 0 }
        Diagnostics.say("reloaded; targets: " + counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
    }

    /// Those that go first, as one that comes may need their ports. Not on this thread: an end may take its time.
    private func exchange(_ gone: [any Target], for fresh: [any Target]) {
        guard !gone.isEmpty || !fresh.isEmpty else { return }
        list.dismiss(gone)
        for target in fresh { list.add(target) }
        changes.async { [list] in
            TargetEnding(gone).carryOut()
            for target in gone { list.remove(target) }
            for target in fresh {
                do throws(StartFailure) {
                    try target.start()
                } catch {
                    Diagnostics.say(error.message)
                    list.remove(target)
                }
            }
        }
    }

    // MARK: The end

    private func end() -> Never {
        manager?.tell("STOPPING=1", "STATUS=ending the targets")
        let targets = list.all
        let isFailure = areOver && list.staying.contains { $0.end.map { $0 != .exited(0) } ?? false }
        if areOver { Diagnostics.say("all targets have ended") }
        TargetEnding(targets).carryOut()
        // One that was just being started has heard of it.
        changes.sync {}
        service?.finish()
        surroundings.sink.close()
        Diagnostics.say("\(RunSummary(list.statistics)); lines in \(surroundings.sink.name)")
        _exit(isFailure ? ExitStatus.targetFailed : ExitStatus.success)
    }
}

extension Settings {
    /// Which of these settings a run that goes on cannot take up.
    fileprivate func needsNewStart(after old: Settings) -> [String] {
        let changed: [(SettingKey, Bool)] = [
            (.output, output != old.output || choosesOutput != old.choosesOutput), (.headers, outputHeaders != old.outputHeaders),
            (.listen, listen != old.listen), (.duration, duration != old.duration),
        ]
        return changed.filter(\.1).map(\.0.path)
    }
}
