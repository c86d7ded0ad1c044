internal import Glibc
internal import LagMonitor
internal import LagWorkload

/// One run: everything is opened and checked first, then the monitor starts, then the workload.
struct WorkloadRun {
    let settings: Settings

    /// Runs the main thread's loop. Returns only by throwing: a normal end exits the process (``RunControl``).
    /// - Throws: ``StartFailure`` before anything has started.
    func execute(_ signals: StopSignals) throws(StartFailure) -> Never {
        Diagnostics.beginQueueing()
        let loop = ObservedRunLoop.main
        let output = RunOutput(settings, sink: try settings.openOutput(), loops: [.init(loop: loop.name)])
        let truth = try openTruth()
        let steps = try makeSteps()
        let sinks: [any RecordSink] = [output.sink] + [output.live].compactMap { $0 }
        let monitor = StallMonitor(configuration: settings.monitor, sinks: sinks)
        try output.serve(OwnProcessStatus(monitor: monitor, loops: [loop]))
        try start(monitor)

        let workload = Workload(
            plan: WorkloadPlan(steps: settings.workloadSteps, threshold: settings.threshold),
            steps: steps,
            truth: truth
        ) { time, work in
            loop.add(RunLoopTimer(fireDate: time) { _ in work() }, to: .common)
        } submit: { work in
            loop.perform(work)
        }
        let reader = OutputReaderMonitor()
        let control = RunControl(
            monitor: monitor,
            output: output,
            workload: workload,
            truth: truth,
            reader: reader,
            deadline: settings.deadline
        )
        let background: BackgroundWork
        do {
            if settings.output.destination == .stdout { try reader.start(STDOUT_FILENO) }
            background = try BackgroundWork(on: loop)
            try control.start(signals)
        } catch let failure as StartFailure {
            throw failure
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "\(error)")
        }
        workload.start()
        withExtendedLifetime(background) { loop.run() }
        // The loop was stopped from outside; the control thread still ends the process.
        while true { pause() }
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
            return try WorkloadSteps(for: settings.workloadSteps)
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
