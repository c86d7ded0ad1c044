internal import FoundationEssentials
internal import Glibc
internal import LagMonitor
internal import Synchronization

/// `lagmond run --config FILE` with targets: runs and watches all of them until a signal, the time, or their own end.
struct Daemon {
    let settings: Settings
    let inherited: InheritedSignals

    /// Opens and checks everything first, then starts the targets.
    /// - Parameter reload: reads the settings again, for SIGHUP.
    /// - Throws: ``StartFailure`` before any target has started, or if one of them cannot be started.
    func execute(
        _ signals: StopSignals,
        reload: @escaping () throws(SettingsError) -> Settings
    ) throws(StartFailure) -> Never {
        try settings.rejectUnusedSettings(on: .targets)
        Diagnostics.beginQueueing()
        let output = RunOutput(settings, sink: try CommandOutput(settings: settings).open())
        try settings.reportUnfinished(to: output.sink)
        let list = TargetList()
        let dependencies = TargetDependencies(sink: output.sink, live: output.live, inherited: inherited) { [weak list] in
            list?.commandTarget(of: $0)
        } onEnd: {
            // Triggers a check of the targets.
            kill(getpid(), SIGCHLD)
        }
        let made = try dependencies.makeTargets(settings.targets)
        try output.serve(list)
        for target in made {
            do throws(StartFailure) {
                try target.start()
            } catch {
                TargetShutdown(list.all).run()
                throw error
            }
            list.add(target)
        }
        DaemonControl(
            settings: settings,
            dependencies: dependencies,
            list: list,
            manager: ServiceManager(ProcessInfo.processInfo.environment),
            output: output,
            reload: reload
        ).run(signals)
    }
}

/// Stops several targets concurrently.
struct TargetShutdown {
    let targets: [any Target]

    init(_ targets: [any Target]) { self.targets = targets }

    /// Returns when all have ended. Bounded, as ``Target/stop()`` is.
    func run() {
        let left = Atomic(targets.count)
        withExtendedLifetime(Box(left)) { box in
            for target in targets {
                let end: @Sendable () -> Void = {
                    target.stop()
                    box.count.subtract(1, ordering: .releasing)
                }
                do { try HelperThread.start("target-stop", end) } catch { end() }
            }
            while box.count.load(ordering: .acquiring) > 0 { usleep(2000) }
        }
    }

    private final class Box: Sendable {
        let count: Atomic<Int>
        init(_ count: consuming Atomic<Int>) { self.count = count }
    }
}
