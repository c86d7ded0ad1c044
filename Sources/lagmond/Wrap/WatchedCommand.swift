internal import Glibc
internal import LagMonitor
internal import LagMonitorOTLP
internal import LagWorkload

/// `lagmond run [options] -- COMMAND ARGUMENTS…` from beginning to end: the command runs in our place, and its loops are watched.
struct WatchedCommand {
    let settings: Settings

    /// Never returns: this process ends as the command ends.
    /// - Throws: ``StartFailure`` before the command has started.
    func execute(_ command: WrappedCommand, _ signals: InheritedSignals) throws(StartFailure) -> Never {
        try refuseWorkloadSettings()
        let run = try WrappedRun(command, signals: signals)
        let configuration = settings.monitor
        // A wait tells that a loop came by, not that it slept: who is busy all the time is no news. A monitor in the command knows.
        var rulesOfWaits = configuration.rules
        if !settings.choosesRules { rulesOfWaits.starvationThreshold = nil }
        try check(configuration)
        let sink = try openOutput()
        if let obstacle = run.obstacle { Diagnostics.say("not watched: \(obstacle)") }
        signals.block()
        let watch = PageWatch(page: run.page, configuration: configuration, rulesOfWaits: rulesOfWaits, sink: sink) {
            Diagnostics.say($0)
        }
        do {
            try watch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the monitor cannot start: \(error)")
        }
        let end = try run.execute()
        watch.stop()
        sink.close()
        let statistics = watch.statistics
        // A command that did not stall ends as if nobody had been there.
        if statistics.stalls > 0 { Diagnostics.say("\(RunSummary(statistics)); lines in \(sink.name)") }
        WrappedProcess.leave(as: end)
    }

    /// What would be ignored.
    private func refuseWorkloadSettings() throws(StartFailure) {
        let given: [(SettingKey, Bool)] = [
            (.duration, settings.duration != nil), (.truth, settings.truthPath != nil), (.listen, settings.listen != nil),
            (.unfinished, settings.choosesUnfinished),
        ]
        var names = given.filter(\.1).map { key, _ in key.option.map { "\($0) (\(key.path))" } ?? key.path }
        if !settings.steps.isEmpty { names.append("workload.steps") }
        guard !names.isEmpty else { return }
        throw StartFailure(
            status: ExitStatus.configuration,
            message: "\(names.joined(separator: ", ")): without effect on a command (allowed: only without one)"
        )
    }

    /// What the command writes is its reader's alone.
    private func refuseStandardOutput() throws(StartFailure) {
        var isStandard = settings.output.destination == .stdout
        if case .file(let path) = settings.output.destination {
            var (file, own) = (stat(), stat())
            isStandard =
                stat(path, &file) == 0 && file.st_mode & S_IFMT != S_IFREG
                && [STDOUT_FILENO, STDERR_FILENO].contains {
                    fstat($0, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino
                        && own.st_rdev != Self.nullDevice
                }
        }
        guard isStandard, settings.choosesOutput else { return }
        throw StartFailure(
            status: ExitStatus.configuration,
            message: "output.path: stdout and stderr are the command's (allowed: another \(OutputSettings.allowedDestinations))"
        )
    }

    /// `/dev/null` (major 1, minor 3), which everybody may have.
    private static let nullDevice: dev_t = 0x103

    private func check(_ configuration: LagMonitorConfiguration) throws(StartFailure) {
        if configuration.rules.ping != nil || configuration.rules.pingWhileWaiting != nil || configuration.rules.frame != nil {
            let allowed = "callout, starvation, sample"
            throw StartFailure(
                status: ExitStatus.configuration,
                message: "monitor.rules: a command's loops can neither be pinged nor asked to tick (allowed: \(allowed))"
            )
        }
        do {
            try configuration.validate()
        } catch {
            throw StartFailure(status: ExitStatus.configuration, message: "\(error)")
        }
    }

    private func openOutput() throws(StartFailure) -> any RecordSink {
        try refuseStandardOutput()
        guard settings.choosesOutput else {
            if access(".", W_OK) != 0, access(WrappedRun.defaultOutput, W_OK) != 0 {
                Diagnostics.say(
                    "\(WrappedRun.defaultOutput): \(Diagnostics.reason(errno)): stalls will not be written (--output names another place)"
                )
            }
            return LateFileSink(path: WrappedRun.defaultOutput)
        }
        do {
            return try settings.output.makeSink { endpoint throws(SinkError) in
                try OTLPSink(endpoint: endpoint, headers: settings.outputHeaders)
            }
        } catch {
            throw StartFailure(status: ExitStatus.cannotCreate, message: "output: \(error)")
        }
    }
}
