internal import LagMonitor
internal import LagRemote

/// What a run does: the settings of all sources, combined and checked.
struct Settings: Sendable, WatchSettings {
    var monitor = StallMonitorConfiguration()
    /// Where the records go.
    var output = OutputSettings(.stdout)
    /// Whether a source sets ``output``.
    var choosesOutput = false
    /// The rotation of the file for commands' lines if no source sets ``output``.
    var defaultRotation: FileRotation?
    var defaultPermissions = FilePermissions.owner
    /// Whether a source sets where stalls in progress are kept.
    var choosesUnfinished = false
    /// Whether a source sets what counts as a stall.
    var choosesRules = false
    /// The headers of requests to an `otlp:` destination.
    var outputHeaders: [String: String] = [:]
    /// Where the ground truth is written; nil: nowhere.
    var truthPath: String?
    /// Where the HTTP service listens; nil: no service.
    var listen: ListenAddress?
    /// Which loops of other programs are watched; the default for targets.
    var selection = LoopSelection()
    /// Which attributes of published contexts may be in records.
    var attributes = PublishedAttributes()
    /// Whether a command that cannot be watched does not run.
    var requiresWatch = false
    /// Whether a command's runtimes are asked to write perf maps.
    var writesPerfMaps = false
    /// How long the run takes; nil: until a signal ends it.
    var duration: Duration?
    /// The workload's steps, checked; empty: nothing stalls the main thread.
    var steps: [JSONValue] = []

    /// What is done with a command that hangs or exits; the default for targets.
    var policy = CommandPolicy()
    /// Which of these settings a source sets.
    var explicitPolicyKeys: [SettingKey] = []
    /// Commands to run and to watch; empty: none.
    var targets: [TargetSettings] = []

    /// The names of settings in messages.
    var names = SettingNames()

    /// Parameters without effect that are reported to the user.
    var unusedOptions: [UnusedOption] = []

    /// The deadline of a run that begins now.
    var deadline: MonotonicTime { duration.map { .now + $0 } ?? .distantFuture }

    /// The shortest stall that the callout rule reports; the default if that rule is not enabled.
    var threshold: Duration { (monitor.rules.callout ?? StallRules.Timeouts()).threshold }
}
