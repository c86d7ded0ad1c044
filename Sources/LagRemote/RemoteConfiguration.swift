internal import Glibc
internal import LagDetection
internal import LagModel
package import LagMonitor
internal import LagOutput

/// What counts as a stall in other processes.
package struct RemoteConfiguration: Sendable, Equatable {
    /// For loops that publish their activity.
    package let monitor: StallMonitorConfiguration
    /// For loops that are known only by their waits.
    package let preloadRules: StallRules
    /// Which loops are watched.
    package let selection: LoopSelection
    /// Which attributes of published contexts may be in records.
    package let attributes: PublishedAttributes

    /// - Parameter preloadRules: nil: the configuration's rules.
    package init(
        _ monitor: StallMonitorConfiguration,
        preloadRules: StallRules? = nil,
        selection: LoopSelection = LoopSelection(),
        attributes: PublishedAttributes = PublishedAttributes()
    ) {
        self.attributes = attributes
        self.selection = selection
        self.preloadRules = preloadRules ?? monitor.rules
        self.monitor = monitor
    }

    /// A process as its records describe it.
    func context(of process: Int32) -> ProcessContext {
        var context = ProcessContext.current()
        context.pid = process
        context.processName = ProcessContext.processName(of: process) ?? "unknown"
        context.serviceName = monitor.serviceName
        context.serviceVersion = monitor.serviceVersion
        let environment = InheritedEnvironment.bytes(of: process, observer: getpid())
        context.add(ProcessResource(of: "\(process)", environment: environment))
        return context
    }

    /// A monitor of a process, not yet started; it closes its sinks, except the shared one.
    /// - Parameter processSinks: further sinks only for that process.
    func makeMonitor(
        of context: ProcessContext,
        semaphore: WakeSemaphore,
        externalSampler: KernelSampler? = nil,
        sink: any RecordSink,
        processSinks: (ProcessContext) -> [any RecordSink],
        reportError: @escaping @Sendable (String) -> Void
    ) -> StallMonitor {
        StallMonitor(
            of: context,
            running: TraceCapture.self,
            semaphore: semaphore,
            externalSampler: externalSampler,
            languages: LanguageFrames(process: context.pid, attributes: attributes, reportError: reportError),
            configuration: monitor,
            sinks: [NonClosingSink(sink)] + processSinks(context)
        )
    }
}
