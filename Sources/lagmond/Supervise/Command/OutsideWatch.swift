internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Watches those processes of a command from outside that the preloaded library is not active in. Any thread.
final class OutsideWatch: Sendable {
    enum Start {
        case watching
        /// It has ended meanwhile, or the command has.
        case ended
        case failed(String)
    }

    /// More at the same time are not watched, and that is reported.
    static let most = 16

    private struct Entry {
        let process: AttachedProcess
        /// Another one: by exec another program, which the library may be active in.
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

    /// For watches that begin from now on.
    func configure(_ configuration: RemoteConfiguration) { state.withLock { $0.configuration = configuration } }

    /// Who is not selected is not to be watched.
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

    /// Ends the watch of each process that has become a program, by exec, in which the library is active: that publishes its loops itself. And of
    /// each that does so now, whatever it is.
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

    /// Ends the watches. What the processes were stalled in becomes an `abandoned` line.
    func stop() { remove { _ in true } }

    /// The same; no other begins.
    func end() {
        state.withLock { $0.isOver = true }
        stop()
    }

    private func remove(_ isMeant: (Entry) -> Bool) {
        let meant = state.withLock { $0.present.filter(isMeant) }.map(\.process)
        // All of them first: each may wait for the sink.
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

    /// Has a `begin` line written of each stall in progress that had begun by then.
    func reportStalls(begunBefore time: MonotonicTime) {
        for process in processes { process.watch.reportStalls(begunBefore: time) }
    }

    func probeLiveness() -> [LivenessProbe.Check] { processes.map { $0.watch.probeLiveness() } }
}
