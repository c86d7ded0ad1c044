internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Watches from outside the processes of a command in which the preloaded library is not active. Any thread.
final class ExternalWatch: Sendable {
    enum Start {
        case watching
        /// The process or the command has ended meanwhile.
        case ended
        case failed(String)
    }

    /// The maximum at the same time; more are not watched, which is reported.
    static let most = 16

    private struct Entry {
        let process: AttachedProcess
        /// If it differs, the process has started another program by exec, in which the library may be active.
        var image: ProgramImage?
    }

    private struct State {
        var configuration: RemoteConfiguration
        var present: [Entry] = []
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

    /// Applies to watches that begin from now on.
    func configure(_ configuration: RemoteConfiguration) { state.withLock { $0.configuration = configuration } }

    /// Processes that are not selected must not be watched.
    var selection: LoopSelection { state.withLock { $0.configuration.selection } }

    func watch(_ process: Int32) -> Start {
        remove { $0.process.watch.isOver }
        guard state.withLock({ $0.present.count }) < Self.most else {
            return .failed("\(Self.most) processes are watched from outside, which is the limit")
        }
        do throws(StartFailure) {
            let configuration = state.withLock { $0.configuration }
            let image = ProgramImage(of: process)
            let made = try AttachedProcess(process, name: name, configuration: configuration, sink: sink, lines: lines)
            try made.start()
            let isOver = state.withLock { state in
                if !state.isOver { state.present.append(Entry(process: made, image: image)) }
                return state.isOver
            }
            if isOver { made.watch.stop() }
            return isOver ? .ended : .watching
        } catch {
            return error.status == ExitStatus.noInput ? .ended : .failed(error.message)
        }
    }

    func isWatching(_ process: Int32) -> Bool {
        state.withLock { $0.present.contains { $0.process.watch.process == process && !$0.process.watch.isOver } }
    }

    /// Ends the watch of each process that has started another program, by exec, in which the library is active and publishes the
    /// loops. Also ends the watch of each process that publishes loops for any other reason.
    func leave(publishes: (Int32) -> Bool, where hasLibrary: (Int32) -> Bool?) {
        for entry in state.withLock({ $0.present }) {
            let process = entry.process.watch.process
            guard !publishes(process) else {
                remove { $0.process === entry.process }
                continue
            }
            guard let image = ProgramImage(of: process), image.isKnown, image != entry.image else { continue }
            if hasLibrary(process) == true {
                remove { $0.process === entry.process }
            } else {
                state.withLock { state in
                    guard let index = state.present.firstIndex(where: { $0.process === entry.process }) else { return }
                    state.present[index].image = image
                }
            }
        }
    }

    /// Ends the watches. Stalls in progress become `abandoned` lines.
    func stop() { remove { _ in true } }

    /// The same, and no new watch can begin.
    func end() {
        state.withLock { $0.isOver = true }
        stop()
    }

    private func remove(_ isMeant: (Entry) -> Bool) {
        let meant = state.withLock { $0.present.filter(isMeant) }.map(\.process)
        // Requests all stops first, because each may wait for the sink.
        for process in meant { process.watch.requestStop() }
        for process in meant {
            process.watch.stop()
            state.withLock { state in
                guard let index = state.present.firstIndex(where: { $0.process === process }) else { return }
                state.present.remove(at: index)
                state.past += process.watch.statistics
                state.pastLoops += process.watch.begunLoops
            }
        }
    }

    private var processes: [AttachedProcess] { state.withLock { $0.present.map(\.process) } }

    var statistics: StallMonitorStatistics {
        state.withLock { state in state.present.reduce(into: state.past) { $0 += $1.process.watch.statistics } }
    }

    /// Loops whose watch has begun so far.
    var begunLoops: UInt64 {
        state.withLock { state in state.present.reduce(state.pastLoops) { $0 + $1.process.watch.begunLoops } }
    }

    var watchedProcesses: [WatchedProcess] { processes.flatMap(\.watchedProcesses) }

    /// Writes a `begin` line for each stall in progress that had begun by then.
    func reportStalls(begunBefore time: MonotonicTime) {
        for process in processes { process.watch.reportStalls(begunBefore: time) }
    }

    func probeLiveness() -> [LivenessProbe.Check] { processes.map { $0.watch.probeLiveness() } }
}
