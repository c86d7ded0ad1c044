internal import LagDetection
internal import LagReport

extension LagMonitor {
    /// A monitor of another process, whose lines go where those of others go as well. Not started.
    convenience init(
        ofProcess process: Int32,
        semaphore: WakeSemaphore,
        outside: (any OutsideView)? = nil,
        configuration: LagMonitorConfiguration,
        sink: any RecordSink
    ) {
        var context = ProcessContext.of(process)
        context.serviceName = configuration.serviceName
        context.serviceVersion = configuration.serviceVersion
        // One file for all of them; and lagmond, which would keep it, does not die with them.
        var configuration = configuration
        configuration.unfinishedPath = nil
        self.init(of: context, semaphore: semaphore, outside: outside, configuration: configuration, sinks: [BorrowedSink(sink)])
    }
}
