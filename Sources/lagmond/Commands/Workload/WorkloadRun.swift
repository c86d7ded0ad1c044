internal import Glibc
internal import LagMonitor
internal import LagWorkload

/// One run: everything is opened and checked first, then the monitor starts, then the workload.
struct WorkloadRun {
    let settings: Settings

    /// Runs the main thread's loop. Returns only by throwing: an orderly end leaves the process (``RunControl``).
    /// - Throws: ``StartFailure`` before anything has started.
    func execute(_ signals: StopSignals) throws(StartFailure) -> Never {
        let sink = try settings.openOutput()
        let truth = try openTruth()
        let steps = try makeSteps()
        let loop = ObservedRunLoop.main
        let (sinks, service) = watched(sink, loop)
        let monitor = StallMonitor(configuration: settings.monitor, sinks: sinks)
        try service?.start(OwnProcessStatus(monitor: monitor, loops: [loop]))
        try start(monitor)

        let workload = Workload(
            plan: WorkloadPlan(steps: settings.steps, threshold: settings.threshold),
            steps: steps,
            truth: truth
        ) { time, work in
            loop.add(RunLoopTimer(fireDate: time) { _ in work() }, to: .common)
        } submit: { work in
            loop.perform(work)
        }
        let reader = OutputReaderMonitor()
        let deadline = settings.duration.map { MonotonicTime.now + $0 } ?? .distantFuture
        let control = RunControl(
            monitor: monitor,
            service: service,
            workload: workload,
            truth: truth,
            reader: reader,
            deadline: deadline
        )
        let background: BackgroundWork
        do {
            if settings.output.destination == .stdout { try reader.start(STDOUT_FILENO) }
            background = try BackgroundWork(on: loop)
            try control.start(signals)
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "\(error)")
        }
        workload.start()
        withExtendedLifetime(background) { loop.run() }
        // The loop was stopped from outside; the control thread still has the last word.
        while true { pause() }
    }

    /// The sinks, and what tells of them over HTTP, if that is asked for.
    private func watched(_ sink: any RecordSink, _ loop: ObservedRunLoop) -> ([any RecordSink], HttpService?) {
        guard let address = settings.listen else { return ([sink], nil) }
        let output = HealthTrackingSink(sink)
        let context = ProcessContext.current(
            serviceName: settings.monitor.serviceName,
            serviceVersion: settings.monitor.serviceVersion
        )
        let live = LiveLines(counts: StallCounts(places: [.init(loop: loop.name)]), context: context)
        return ([output, live], HttpService(address: address, live: live, output: output))
    }

    private func openTruth() throws(StartFailure) -> TruthLog? {
        guard let path = settings.truthPath else { return nil }
        do {
            return try TruthLog(path: path)
        } catch {
            throw StartFailure(status: ExitStatus.cannotCreate, message: "\(error)")
        }
    }

    private func makeSteps() throws(StartFailure) -> WorkloadSteps {
        do {
            return try WorkloadSteps(for: settings.steps)
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "\(error)")
        }
    }

    private func start(_ monitor: StallMonitor) throws(StartFailure) {
        do {
            try settings.monitor.validate()
            try monitor.start()
            try monitor.watch(ObservedRunLoop.main)
        } catch {
            throw StartFailure(status: Self.status(of: error), message: "the monitor cannot start: \(error)")
        }
    }

    private static func status(of error: StallMonitorError) -> Int32 {
        switch error {
        case .captureUnavailable: ExitStatus.unavailable
        case .invalidConfiguration: ExitStatus.configuration
        case .sinkUnavailable: ExitStatus.cannotCreate
        case .resources, .tooManyLoops, .notRunning, .ruleNotPossible: ExitStatus.systemError
        }
    }
}
