internal import LagMonitor
internal import LagRemote

/// The watch of one running process, with its status. Any thread.
final class AttachedProcess: Sendable {
    let watch: AttachWatch
    private let name: String?
    private let lines: LineDispatcher

    /// - Parameters:
    ///   - name: the target's name; nil: the process is identified by its process ID.
    ///   - loops: see ``AttachWatch``.
    ///   - lines: counts the lines and passes them on.
    /// - Throws: ``StartFailure`` if it cannot be watched.
    init(
        _ process: Int32,
        name: String? = nil,
        loops: [Int32] = [],
        configuration: RemoteConfiguration,
        sink: any RecordSink,
        lines: LineDispatcher
    ) throws(StartFailure) {
        let label = name.map { "\($0): " } ?? ""
        do throws(AttachRefusal) {
            watch = try AttachWatch(process: process, loops: loops, configuration: configuration, sink: sink) { context in
                [lines.sink(of: context)]
            } reportError: {
                Diagnostics.report(label + $0)
            }
        } catch {
            throw StartFailure(status: error.status, message: "\(error)")
        }
        self.name = name
        self.lines = lines
    }

    func start() throws(StartFailure) {
        do throws(StallMonitorError) {
            try watch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the watch cannot start: \(error)")
        }
    }

    /// The process, while it is watched.
    var watchedProcesses: [WatchedProcess] { watch.watchedProcess.map { [$0] } ?? [] }

    var lags: [StallCounts.LoopKey: UInt64] { lines.lags(of: watchedProcesses) }

    var status: TargetStatus {
        let watched = watchedProcesses
        let phase: CommandLifecycle.Phase = watch.isOver ? .ended : .running
        return TargetStatus(
            name: name,
            phase: phase.rawValue,
            pid: watch.isOver ? 0 : watch.process,
            processes: watched.map(TargetStatus.Process.init),
            withoutLoop: watched.compactMap { process in
                process.silence.map { .init(pid: process.pid, name: process.name, reason: $0) }
            }
        )
    }
}

extension AttachRefusal {
    /// lagmond's exit status.
    var status: Int32 {
        switch self {
        case .notPermitted, .hidden, .program32Bit: ExitStatus.notPermitted
        default: ExitStatus.noInput
        }
    }
}
