internal import LagMonitor
internal import LagRemote

/// Something that is watched while the settings name it: a command that lagmond runs, or a process that already runs.
///
/// ``Daemon`` calls all of these from one thread, except ``stop()``, which any thread may call.
protocol Target: AnyObject, Sendable {
    var settings: TargetSettings { get }

    /// Returns when it is watched.
    func start() throws(StartFailure)

    /// Whether it can apply changed settings of the same name while it runs; otherwise a new target is needed.
    func accepts(_ settings: TargetSettings) throws(StartFailure) -> Bool

    /// Applies settings that it accepts.
    func change(to settings: TargetSettings) throws(StartFailure)

    /// Ends it for good, and its watch: stalls in progress become `abandoned` lines. Bounded.
    func stop()

    /// How it ended for good by itself; nil while it runs.
    var end: WrappedProcess.Termination? { get }
    var status: TargetStatus { get }
    var lags: [StallCounts.LoopKey: UInt64] { get }
    /// The counts so far; final after ``stop()``.
    var statistics: StallMonitorStatistics { get }

    /// Whether it watches, or will watch, this process as part of a command. Any thread.
    func covers(_ process: Int32) -> Bool

    /// Sends a probe to all threads that detection needs; the result reports whether they have answered.
    func probeLiveness() -> LivenessProbe.Check
}

/// Dependencies that all targets share.
struct TargetDependencies: Sendable {
    let sink: any RecordSink
    let live: LiveLines?
    let inherited: InheritedSignals
    /// The name of the target whose command a process is part of.
    let commandTarget: @Sendable (Int32) -> String?
    /// Called when a target has ended for good by itself. Any thread.
    let onEnd: @Sendable () -> Void

    /// Why a process must not be watched by a target of its own: its stalls would be reported twice, and only one watch can trace
    /// its threads.
    func overlap(_ process: Int32) -> String? {
        commandTarget(process).map { "process \(process) is part of the command of target \($0), which watches it" }
    }

    /// All or none.
    /// - Throws: ``StartFailure`` if some cannot be created, with the status of the first failure and the message of the last one,
    ///   after the messages of the others were reported in order; nothing has started.
    func makeTargets(_ settings: [TargetSettings]) throws(StartFailure) -> [any Target] {
        var (made, failures): ([any Target], [StartFailure]) = ([], [])
        for settings in settings {
            do throws(StartFailure) { made.append(try makeTarget(settings)) } catch { failures.append(error) }
        }
        guard let first = failures.first, let last = failures.popLast() else { return made }
        for failure in failures { Diagnostics.report(failure.message) }
        throw StartFailure(status: first.status, message: last.message)
    }

    private func makeTarget(_ settings: TargetSettings) throws(StartFailure) -> any Target {
        switch settings.kind {
        case .command(let words): return try CommandTarget(settings, words, self)
        case .process, .processFile: return try ProcessTarget(settings, self)
        }
    }
}
