internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Watches those processes of a command from outside that the preloaded library is not in. Any thread.
final class OutsideWatch: Sendable {
    /// More at the same time are not watched, and that is reported.
    static let most = 16

    private struct State {
        var configuration: RemoteConfiguration
        var present: [AttachedProcess] = []
        var past = StallMonitorStatistics()
        var pastLoops: UInt64 = 0
        var isOver = false
    }

    private let name: String?
    private let sink: any RecordSink
    private let lines: LineDispatcher
    private let state: Mutex<State>

    /// - Parameters: see ``AttachedProcess``.
    init(name: String?, configuration: RemoteConfiguration, sink: any RecordSink, lines: LineDispatcher) {
        self.name = name
        self.sink = sink
        self.lines = lines
        state = Mutex(State(configuration: configuration))
    }

    /// For watches that begin from now on.
    func configure(_ configuration: RemoteConfiguration) { state.withLock { $0.configuration = configuration } }

    /// - Returns: why it is not watched; nil: it is, or has ended.
    func watch(_ process: Int32) -> String? {
        removeEnded()
        guard state.withLock({ $0.present.count }) < Self.most else {
            return "\(Self.most) processes are watched from outside, which is the limit"
        }
        do throws(StartFailure) {
            let configuration = state.withLock { $0.configuration }
            let made = try AttachedProcess(process, name: name, configuration: configuration, sink: sink, lines: lines)
            try made.start()
            let isOver = state.withLock { state in
                if !state.isOver { state.present.append(made) }
                return state.isOver
            }
            if isOver { made.watch.stop() }
            return nil
        } catch {
            // It has ended meanwhile: nothing was missed.
            return error.status == ExitStatus.noInput ? nil : error.message
        }
    }

    func isWatching(_ process: Int32) -> Bool {
        state.withLock { $0.present.contains { $0.watch.process == process && !$0.watch.isOver } }
    }

    /// Ends the watches. What the processes were stalled in becomes an `abandoned` line.
    func stop() { remove { _ in true } }

    /// The same; no other begins.
    func end() {
        state.withLock { $0.isOver = true }
        stop()
    }

    private func removeEnded() { remove { $0.watch.isOver } }

    private func remove(_ isMeant: (AttachedProcess) -> Bool) {
        for process in state.withLock({ $0.present.filter(isMeant) }) {
            // May wait for the sink.
            process.watch.stop()
            state.withLock { state in
                guard let index = state.present.firstIndex(where: { $0 === process }) else { return }
                state.present.remove(at: index)
                state.past += process.watch.statistics
                state.pastLoops += process.watch.begunLoops
            }
        }
    }

    var statistics: StallMonitorStatistics {
        state.withLock { state in state.present.reduce(into: state.past) { $0 += $1.watch.statistics } }
    }

    /// Loops whose watch has begun so far.
    var begunLoops: UInt64 { state.withLock { state in state.present.reduce(state.pastLoops) { $0 + $1.watch.begunLoops } } }

    var watchedProcesses: [WatchedProcess] { state.withLock { $0.present }.flatMap(\.watchedProcesses) }

    func probeLiveness() -> [LivenessProbe.Check] { state.withLock { $0.present }.map { $0.watch.probeLiveness() } }
}
