internal import LagDetection

extension StallMonitorStatistics.Pauses {
    init(_ pauses: ProcessPauses) {
        self.init()
        processPauses = pauses.processPauses
        paused = .nanoseconds(Int64(clamping: pauses.pausedNanoseconds))
        throttled = .nanoseconds(Int64(clamping: pauses.throttledNanoseconds))
        suspensions = pauses.suspensions
        suspended = .nanoseconds(Int64(clamping: pauses.suspendedNanoseconds))
        clockSteps = pauses.clockSteps
    }
}
