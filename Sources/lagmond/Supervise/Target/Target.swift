internal import LagMonitor
internal import LagRemote

/// Something that is watched for as long as it stands in the settings: a command that is run, or a process that runs already.
///
/// ``Daemon`` calls all of these from one thread, but ``stop()`` from any.
protocol Target: AnyObject, Sendable {
    var settings: TargetSettings { get }

    /// Returns when it is watched.
    func start() throws(StartFailure)

    /// Takes other settings of the same name up, while it runs.
    /// - Returns: false when that takes a new target.
    func change(to settings: TargetSettings) throws(StartFailure) -> Bool

    /// Ends it for good, and its watch: stalls in progress become `abandoned` lines. Bounded.
    func stop()

    /// How it ended for good by itself; nil while it goes on.
    var end: WrappedProcess.Termination? { get }
    var status: TargetStatus { get }
    var lags: [StallCounts.LoopKey: UInt64] { get }
    /// The counts so far; final after ``stop()``.
    var statistics: StallMonitorStatistics { get }

    /// Asks all threads that a stall needs to be noticed; whether they answer in time is to be asked afterwards.
    func probeLiveness() -> LivenessProbe.Check
}

/// What targets have in common.
struct TargetDependencies: Sendable {
    let sink: any RecordSink
    let live: LiveLines?
    let inherited: InheritedSignals
    /// Called when a target has ended for good by itself. Any thread.
    let onEnd: @Sendable () -> Void

    /// - Throws: ``StartFailure`` where the settings cannot be had; nothing has started then.
    func makeTarget(_ settings: TargetSettings) throws(StartFailure) -> any Target {
        switch settings.kind {
        case .command(let words): return try CommandTarget(settings, words, self)
        case .process, .processFile: return try ProcessTarget(settings, self)
        }
    }
}
