internal import LagMonitor
internal import LagRemote
internal import LagWorkload

/// The watch of one process that runs already, with what is shown of it. Any thread.
final class AttachedProcess: Sendable {
    let watch: AttachWatch
    private let name: String?
    private let lines: LineDispatcher

    /// - Parameters:
    ///   - name: of the target; nil: it is known by its number.
    ///   - loops: see ``AttachWatch``.
    ///   - lines: by which they are counted and handed on.
    /// - Throws: ``StartFailure`` where it cannot be watched.
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
                Diagnostics.say(label + $0)
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

    var lags: [StallCounts.LoopKey: UInt64] {
        guard let process = watch.watchedProcess else { return [:] }
        let loops = process.loops.map { (lines.place(process: process.name, loop: $0.name), $0.lagNanoseconds) }
        return Dictionary(loops, uniquingKeysWith: max)
    }

    var status: TargetStatus {
        let processes = [watch.watchedProcess].compactMap { $0 }.map(TargetStatus.Process.init)
        let phase: CommandLifecycle.Phase = watch.isOver ? .ended : .running
        return TargetStatus(name: name, phase: phase.rawValue, pid: watch.isOver ? 0 : watch.process, processes: processes)
    }
}

extension AttachRefusal {
    /// With what lagmond ends.
    var status: Int32 {
        switch self {
        case .notPermitted, .hidden: ExitStatus.notPermitted
        default: ExitStatus.noInput
        }
    }
}

extension ExitStatus {
    /// The kernel does not let us look into a process.
    static let notPermitted: Int32 = 77
}
