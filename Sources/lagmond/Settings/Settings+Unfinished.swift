internal import Glibc
internal import LagMonitor
internal import LagOutput

/// Stalls in progress of other programs, kept for the case that lagmond is killed (`output.unfinished_path`).
extension Settings {
    /// The settings for commands and targets: if no source names an output, lines go to a file, and stalls in progress are kept
    /// beside it.
    func withCommandsDefaults() -> Settings {
        guard !choosesOutput, !choosesUnfinished else { return self }
        let place = UnfinishedPath(besideLog: CommandLauncher.defaultOutput)
        // Like the file beside it, it is created only where other users cannot put files, because the user requested neither.
        guard access(place.folder, W_OK) == 0, LineFile.folderRefusal(place.path) == nil else { return self }
        var settings = self
        settings.monitor.unfinishedPath = place.path
        for index in settings.targets.indices { settings.targets[index].monitor.unfinishedPath = place.path }
        return settings
    }

    /// With the path at which a running lagmond keeps stalls: a newly read path was not checked, and stalls left there were not
    /// reported.
    func keepingUnfinishedPath(of running: Settings) -> Settings {
        var settings = self
        settings.monitor.unfinishedPath = running.monitor.unfinishedPath
        for index in settings.targets.indices { settings.targets[index].monitor.unfinishedPath = running.monitor.unfinishedPath }
        return settings
    }

    /// Writes the stalls in which an earlier lagmond was killed; once, before anything is watched.
    /// - Throws: ``StartFailure`` if stalls cannot be kept at the path that a source names.
    func reportUnfinished(to sink: any RecordSink) throws(StartFailure) {
        guard let path = monitor.unfinishedPath else { return }
        let place = UnfinishedPath(path)
        if let obstacle = place.obstacle(besides: [sink.name]) {
            throw StartFailure(
                status: ExitStatus.cannotCreate,
                message: "\(SettingKey.unfinished.path): stalls in progress cannot be kept at \(path): \(obstacle) "
                    + "(allowed: a file of its own in a folder that lagmond may write to, or none)"
            )
        }
        var context = ProcessContext.current(serviceName: monitor.serviceName, serviceVersion: monitor.serviceVersion)
        context.readResource()
        // Errors in the labels are reported when the monitor starts.
        context.labels = (try? monitor.checkedLabels()) ?? .none
        let format = sink.format ?? monitor.format
        let limits = (try? LineLimits(maxLineBytes: monitor.maxLineBytes)) ?? .standard
        var outputs = [RecordOutput(encoder: RecordEncoder(context: context, limits: limits, format: format), sink: sink)]
        let recovered = RecoveredStalls(at: place, bootID: context.bootID)
        let found = UInt64(recovered.stalls.count)
        let count = recovered.report(to: &outputs, now: .now())
        if count > 0 {
            Diagnostics.report("\(Self.unfinishedText(count)): reported as abandoned in \(sink.name)")
        }
        if count < found {
            Diagnostics.report("\(Self.unfinishedText(found - count)): not written to \(sink.name); the next start tries again")
        }
    }

    private static func unfinishedText(_ count: UInt64) -> String {
        let subject = count == 1 ? "1 stall that was in progress" : "\(count) stalls that were in progress"
        return "\(subject) when an earlier lagmond was killed"
    }
}
