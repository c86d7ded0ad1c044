internal import LagMonitor
internal import LagRemote
internal import LagWorkload

/// The watch of one process that runs already, with what is shown of it. Any thread.
final class AttachedProcess: Sendable {
    let watch: AttachWatch
    private let name: String?
    private let lines: LineLog

    /// - Parameters:
    ///   - name: of the target; nil: it is known by its number.
    ///   - loops: see ``AttachWatch``.
    ///   - lines: by which they are counted and handed on.
    /// - Throws: ``StartFailure`` where it cannot be watched.
    init(
        _ process: Int32,
        name: String? = nil,
        loops: [Int32] = [],
        configuration: ForeignConfiguration,
        sink: any RecordSink,
        lines: LineLog
    ) throws(StartFailure) {
        let label = name.map { "\($0): " } ?? ""
        do throws(AttachRefusal) {
            watch = try AttachWatch(process: process, loops: loops, configuration: configuration, sink: sink) { context in
                [lines.sink(of: context)]
            } complain: {
                Diagnostics.say(label + $0)
            }
        } catch {
            throw StartFailure(status: error.status, message: "\(error)")
        }
        self.name = name
        self.lines = lines
    }

    func start() throws(StartFailure) {
        do throws(LagMonitorError) {
            try watch.start()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the watch cannot start: \(error)")
        }
    }

    var lags: [StallCounts.Place: UInt64] {
        guard let process = watch.processNow else { return [:] }
        let loops = process.loops.map { (lines.place(process: process.name, loop: $0.name), $0.lagNanoseconds) }
        return Dictionary(loops, uniquingKeysWith: max)
    }

    var status: TargetStatus {
        let processes = [watch.processNow].compactMap { $0 }.map(TargetStatus.Process.init)
        let phase: CommandLife.Phase = watch.isOver ? .ended : .running
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
