internal import LagMonitor
internal import LagRemote

/// What a run does: the settings of all sources, combined and checked.
struct Settings: Sendable, WatchSettings {
    var monitor = StallMonitorConfiguration()
    /// Where the records go.
    var output = OutputSettings(.stdout)
    /// Whether a source sets ``output``.
    var choosesOutput = false
    /// Of the file that commands' lines go to where no source sets ``output``.
    var defaultRotation: FileRotation?
    var defaultPermissions = FilePermissions.owner
    /// Whether a source sets where stalls in progress are kept.
    var choosesUnfinished = false
    /// Whether a source sets what counts as a stall.
    var choosesRules = false
    /// Of requests to an `otlp:` destination.
    var outputHeaders: [String: String] = [:]
    /// Where the truth goes; nil: nowhere.
    var truthPath: String?
    /// Where the HTTP service listens; nil: there is no service.
    var listen: ListenAddress?
    /// Which loops of other programs are watched; of targets what their own settings do not say.
    var selection = LoopSelection()
    /// Which attributes of published contexts may stand in records.
    var attributes = PublishedAttributes()
    /// Whether a command that cannot be watched does not run.
    var requiresWatch = false
    /// Whether a command's runtimes are asked to write perf maps.
    var writesPerfMaps = false
    /// How long the run takes; nil: until a signal ends it.
    var duration: Duration?
    /// The workload's steps, checked; empty: nothing stalls the main thread.
    var steps: [JSONValue] = []

    /// What is done with a command that hangs or ends; of targets what their own settings do not say.
    var policy = CommandPolicy()
    /// Which of these settings a source sets.
    var explicitPolicyKeys: [SettingKey] = []
    /// Commands to run and to watch; empty: none.
    var targets: [TargetSettings] = []

    /// How messages name what a source sets.
    var names = SettingNames()

    /// Parameters without effect that are reported to the user.
    var unusedOptions: [UnusedOption] = []

    /// When the run that begins now ends by itself.
    var deadline: MonotonicTime { duration.map { .now + $0 } ?? .distantFuture }

    /// The shortest stall that the callout rule reports; the default's where that rule is not among the rules.
    var threshold: Duration { (monitor.rules.callout ?? StallRules.Timeouts()).threshold }
}
