internal import Glibc
internal import LagMonitor
internal import LagOutput

/// Stalls in progress of other programs, kept for the case that lagmond is killed (`output.unfinished_path`).
extension Settings {
    /// As commands and targets have them: where no source names an output, their lines go to a file, and stalls in progress are kept
    /// beside that.
    func withCommandsDefaults() -> Settings {
        guard !choosesOutput, !choosesUnfinished else { return self }
        let place = UnfinishedPath(besideLog: CommandLauncher.defaultOutput)
        guard access(place.folder, W_OK) == 0 else { return self }
        var settings = self
        settings.monitor.unfinishedPath = place.path
        for index in settings.targets.indices { settings.targets[index].monitor.unfinishedPath = place.path }
        return settings
    }

    /// Writes the stalls in which an earlier lagmond was killed; once, before anything is watched.
    /// - Throws: ``StartFailure`` where stalls cannot be kept at the path that a source names.
    func reportUnfinished(to sink: any RecordSink) throws(StartFailure) {
        guard let path = monitor.unfinishedPath else { return }
        let place = UnfinishedPath(path)
        guard access(place.folder, W_OK) == 0 else {
            throw StartFailure(
                status: ExitStatus.cannotCreate,
                message:
                    "\(SettingKey.unfinished.path): stalls in progress cannot be kept at \(path): \(Diagnostics.reason(errno)) "
                    + "(allowed: a file in a folder that lagmond may write to, or none)"
            )
        }
        let context = ProcessContext.current(serviceName: monitor.serviceName, serviceVersion: monitor.serviceVersion)
        let format = sink.format ?? monitor.format
        let limits = (try? LineLimits(maxLineBytes: monitor.maxLineBytes)) ?? .standard
        var outputs = [RecordOutput(encoder: RecordEncoder(context: context, limits: limits, format: format), sink: sink)]
        let count = RecoveredStalls(at: place, bootID: context.bootID).report(to: &outputs, now: .now())
        guard count > 0 else { return }
        let subject = count == 1 ? "1 stall that was in progress" : "\(count) stalls that were in progress"
        Diagnostics.report("\(subject) when an earlier lagmond was killed: reported as abandoned in \(sink.name)")
    }
}
