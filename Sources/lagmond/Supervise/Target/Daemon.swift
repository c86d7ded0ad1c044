internal import Foundation
internal import Glibc
internal import LagMonitor
internal import LagWorkload
internal import Synchronization

/// `lagmond run --config FILE` with targets: runs and watches all of them until a signal, the time, or their own end.
struct Daemon {
    let settings: Settings
    let inherited: InheritedSignals

    init(_ settings: Settings, _ inherited: InheritedSignals) {
        self.settings = settings
        self.inherited = inherited
    }

    /// Everything is opened and checked first, then the targets start.
    /// - Parameter reload: reads the settings anew, for SIGHUP.
    /// - Throws: ``StartFailure`` before any target has started, or where one of them cannot be.
    func execute(
        _ signals: StopSignals,
        reload: @escaping () throws(SettingsError) -> Settings
    ) throws(StartFailure) -> Never {
        try settings.rejectUnusedSettings(on: .targets)
        let sink = HealthTrackingSink(try CommandOutput(settings: settings).open())
        let live = settings.listen.map { _ in
            LiveLines(
                counts: StallCounts(places: []),
                context: .current(serviceName: nil, serviceVersion: settings.monitor.serviceVersion)
            )
        }
        let list = TargetList()
        let dependencies = TargetDependencies(sink: sink, live: live, inherited: inherited) {
            // Taken up as a look at the targets.
            kill(getpid(), SIGCHLD)
        }
        let made = try settings.targets.map { settings throws(StartFailure) in try dependencies.makeTarget(settings) }
        var service: HttpService?
        if let address = settings.listen, let live {
            service = HttpService(address: address, live: live, output: sink)
            try service?.start(list)
        }
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
            service: service,
            reload: reload
        ).run(signals)
    }
}

/// Ends several targets at a time.
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
                do { try WorkerThread.start(end) } catch { end() }
            }
            while box.count.load(ordering: .acquiring) > 0 { usleep(2000) }
        }
    }

    private final class Box: Sendable {
        let count: Atomic<Int>
        init(_ count: consuming Atomic<Int>) { self.count = count }
    }
}
