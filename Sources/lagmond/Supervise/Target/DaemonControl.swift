internal import CLagRemote
internal import Dispatch
internal import Glibc
internal import LagMonitor
internal import LagRemote

/// The main thread of a run with targets: waits for signals and for the deadline, notifies the service manager, reloads, and ends everything.
struct DaemonControl {
    private var settings: Settings
    private let dependencies: TargetDependencies
    private let list: TargetList
    private let manager: ServiceManager?
    private let output: RunOutput
    private let reload: () throws(SettingsError) -> Settings
    private let deadline: MonotonicTime
    /// Adds and removes targets, one change after the other.
    private let changes = DispatchQueue(label: "lagmond.targets")
    private var status = ""
    /// The targets whose watch did not answer the last liveness probe.
    private var unresponsive: [String] = []
    /// The processes whose own watchdog did not answer.
    private var silent: Set<String> = []

    /// How often the status line for the service manager is updated.
    private static let statusPeriod: Duration = .seconds(10)
    private static let answerPollMicroseconds: UInt32 = 2000

    init(
        settings: Settings,
        dependencies: TargetDependencies,
        list: TargetList,
        manager: ServiceManager?,
        output: RunOutput,
        reload: @escaping () throws(SettingsError) -> Settings
    ) {
        self.settings = settings
        self.dependencies = dependencies
        self.list = list
        self.manager = manager
        self.output = output
        self.reload = reload
        deadline = settings.deadline
    }

    consuming func run(_ signals: StopSignals) -> Never {
        manager?.notify("READY=1")
        let keepAliveInterval = manager?.watchdog.map { $0 / 2 }
        var nextKeepAlive = keepAliveInterval == nil ? MonotonicTime.distantFuture : .now
        var nextStatus = manager == nil ? MonotonicTime.distantFuture : .now
        while true {
            switch signals.wait(until: min(deadline, nextKeepAlive, nextStatus)) {
            case .stop: end()
            case .reopen:
                reloadSettings()
                // After the added targets have started.
                if manager != nil { nextStatus = .now + .seconds(1) }
            case .child:
                clr_wrap_reap_orphans()
                if allEnded { end() }
            case .deadlineReached: if MonotonicTime.now >= deadline { end() }
            }
            if let keepAliveInterval, MonotonicTime.now >= nextKeepAlive {
                nextKeepAlive = .now + keepAliveInterval
                notifyAlive(within: keepAliveInterval / 2)
            }
            if manager != nil, MonotonicTime.now >= nextStatus {
                nextStatus = .now + Self.statusPeriod
                notifyStatus()
            }
        }
    }

    private var allEnded: Bool { list.active.allSatisfy { $0.end != nil } }

    // MARK: Notifications to the service manager

    /// Sends a keep-alive only while every thread makes progress that all processes of a target need. The watchdog of one process
    /// does not count: that process may cause its hang (memory that is never paged in), and would repeatedly end the watch of all
    /// others.
    private mutating func notifyAlive(within wait: Duration) {
        let (targets, processes) = list.unresponsive(within: wait) { usleep(Self.answerPollMicroseconds) }
        if targets.isEmpty { manager?.notify("WATCHDOG=1") }
        if targets != unresponsive, !targets.isEmpty {
            Diagnostics.report(
                "the watch of \(targets.joined(separator: ", ")) does not answer; no keep-alive is sent to the service manager"
            )
        }
        unresponsive = targets
        for process in processes where !silent.contains(process) {
            Diagnostics.report("the watch of \(process) does not answer; its stalls are not detected until it does")
        }
        silent = Set(processes)
    }

    private mutating func notifyStatus() {
        let text = list.summary
        guard text != status else { return }
        status = text
        manager?.notify("STATUS=\(text)")
    }

    // MARK: SIGHUP

    private mutating func reloadSettings() {
        manager?.notifyReloading()
        reopenOutput()
        do throws(SettingsError) {
            let next = try reload()
            do throws(StartFailure) {
                try change(to: next)
            } catch {
                refuse([error.message])
            }
        } catch {
            refuse(error.errors.map { "\($0)" })
        }
        manager?.notify("READY=1")
    }

    private func refuse(_ problems: [String]) {
        for problem in problems { Diagnostics.report(problem) }
        Diagnostics.report("not reloaded: the settings are unchanged")
    }

    /// On another thread, because a hanging disk must not block this one.
    private func reopenOutput() {
        let sink = output.sink
        try? HelperThread.start("reopen-output") {
            do throws(SinkError) { try SharedLoopTableWatch.reopen(sink) } catch { Diagnostics.report("output: \(error)") }
        }
    }

    /// Everything is checked before anything is changed.
    private mutating func change(to read: Settings) throws(StartFailure) {
        let next = read.keepingUnfinishedPath(of: settings)
        guard !next.targets.isEmpty else {
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "targets: missing (allowed: at least one, while lagmond runs)"
            )
        }
        try next.rejectUnusedSettings(on: .targets)
        let present = list.active
        var added: [TargetSettings] = []
        var kept: [(any Target, TargetSettings)] = []
        for settings in next.targets {
            if let target = present.first(where: { $0.settings.name == settings.name }), target.end == nil,
                try target.accepts(settings)
            {
                kept.append((target, settings))
            } else {
                added.append(settings)
            }
        }
        let fresh = try dependencies.makeTargets(added)
        for text in read.settingsThatNeedRestart(after: settings) {
            Diagnostics.report("\(text): takes effect with the next start")
        }
        let gone = present.filter { target in !kept.contains { $0.0 === target } }
        for (target, settings) in kept {
            do throws(StartFailure) { try target.change(to: settings) } catch { Diagnostics.report(error.message) }
        }
        exchange(gone, for: fresh)
        settings = next
        let counts = [(fresh.count, "started"), (gone.count, "stopped"), (kept.count, "kept")].filter { $0.0 > 0 }
        Diagnostics.report("reloaded; targets: " + counts.map { "\($0.0) \($0.1)" }.joined(separator: ", "))
    }

    /// Ends the removed targets first, because an added one may need their ports. Not on this thread, because ending may take
    /// long.
    private func exchange(_ gone: [any Target], for fresh: [any Target]) {
        guard !gone.isEmpty || !fresh.isEmpty else { return }
        list.beginRemoving(gone)
        for target in fresh { list.add(target) }
        changes.async { [list] in
            TargetShutdown(gone).run()
            for target in gone { list.remove(target) }
            for target in fresh {
                do throws(StartFailure) {
                    try target.start()
                } catch {
                    Diagnostics.report(error.message)
                    list.remove(target)
                }
            }
        }
    }

    // MARK: The end

    private func end() -> Never {
        manager?.notify("STOPPING=1", "STATUS=ending the targets")
        let targets = list.all
        let isFailure = allEnded && list.active.contains { $0.end.map { $0 != .exited(0) } ?? false }
        if allEnded { Diagnostics.report("all targets have ended") }
        TargetShutdown(targets).run()
        // A start in progress ends by itself.
        changes.sync {}
        output.close()
        let statistics = list.statistics
        Diagnostics.report("\(output.summary(statistics))\(output.place(statistics))")
        Diagnostics.flush()
        _exit(isFailure ? ExitStatus.targetFailed : ExitStatus.success)
    }
}

extension Settings {
    /// Which of these settings a running daemon cannot change.
    fileprivate func settingsThatNeedRestart(after old: Settings) -> [String] {
        let changed: [(SettingKey, Bool)] = [
            (.output, output != old.output || choosesOutput != old.choosesOutput), (.headers, outputHeaders != old.outputHeaders),
            (.outputBytes, !choosesOutput && !old.choosesOutput && defaultRotation != old.defaultRotation),
            (.outputMode, !choosesOutput && !old.choosesOutput && defaultPermissions != old.defaultPermissions),
            // If no setting names it, it follows the output.
            (.unfinished, (choosesUnfinished || old.choosesUnfinished) && monitor.unfinishedPath != old.monitor.unfinishedPath),
            (.listen, listen != old.listen), (.duration, duration != old.duration),
        ]
        return changed.filter(\.1).map(\.0.path)
    }
}
