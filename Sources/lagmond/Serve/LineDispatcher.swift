internal import LagMonitor
internal import LagOutput
internal import LagRemote
internal import Synchronization

/// Creates the sinks that pass the lines of a command's processes to the clients of `/stalls`, count their stalls, and remember
/// stalls in progress. Any thread.
final class LineDispatcher: Sendable {
    private struct StalledThread: Hashable {
        let process: Int32
        let thread: Int32
    }

    /// nil: no HTTP service.
    private let live: LiveLines?
    private let target: String?
    private let stalled = Mutex<[StalledThread: Int]>([:])

    init(live: LiveLines?, target: String?) {
        self.live = live
        self.target = target
    }

    func place(process: String, loop: String) -> StallCounts.LoopKey {
        StallCounts.LoopKey(target: target, process: process, loop: Self.withoutNumber(loop))
    }

    /// A number at the end (`thread 4711`, `conn-17`) would create a new series for every thread.
    private static func withoutNumber(_ loop: String) -> String {
        let stem = loop.reversed().drop { $0.isASCII && $0.isNumber }
        guard stem.count < loop.count else { return loop }
        let name = String(stem.drop { " -_#:./".contains($0) }.reversed())
        return name.isEmpty ? "thread" : name
    }

    /// How long each loop of these processes has been busy with its current activity.
    func lags(of processes: [WatchedProcess]) -> [StallCounts.LoopKey: UInt64] {
        let loops = processes.flatMap { process in
            process.eventLoops.map { (place(process: process.name, loop: $0.name), $0.busyNanoseconds) }
        }
        return Dictionary(loops, uniquingKeysWith: max)
    }

    func sink(of process: ProcessContext) -> any RecordSink { ProcessLineSink(log: self, process: process) }

    /// Whether this thread has a hang in progress whose line was written, or suppressed by a limit.
    func hasBegun(process: Int32, thread: Int32) -> Bool {
        stalled.withLock { $0[StalledThread(process: process, thread: thread)] != nil }
    }

    fileprivate func take(_ line: UnsafeRawBufferPointer) { try? live?.write(line) }

    fileprivate func take(_ stall: LineFacts.Stall, at place: StallCounts.LoopKey, _ process: ProcessContext) {
        let thread = StalledThread(process: process.pid, thread: stall.threadID)
        stalled.withLock { stalled in
            if stall.phase == .begin { stalled[thread, default: 0] += 1 } else { stalled[thread] = nil }
        }
        live?.counts.count(stall, at: place)
    }

    fileprivate func forget(_ process: Int32, _ begun: [(StallCounts.LoopKey, StallID)]) {
        stalled.withLock { stalled in stalled = stalled.filter { $0.key.process != process } }
        for (place, id) in begun { live?.counts.forget(id, at: place) }
    }
}

/// The lines and stalls of one process.
private final class ProcessLineSink: StallObserver {
    private let log: LineDispatcher
    private let process: ProcessContext
    /// Hangs in progress.
    private let begun = Mutex<[(StallCounts.LoopKey, StallID)]>([])

    let name = "/stalls"
    let format: RecordFormat? = .native

    init(log: LineDispatcher, process: ProcessContext) {
        self.log = log
        self.process = process
    }

    func write(_ line: UnsafeRawBufferPointer) throws(SinkError) { log.take(line) }

    func observe(_ stall: LineFacts.Stall) {
        let place = log.place(process: process.processName, loop: stall.loop)
        begun.withLock { begun in
            begun.removeAll { $0.1 == stall.id }
            if stall.phase == .begin { begun.append((place, stall.id)) }
        }
        log.take(stall, at: place, process)
    }

    /// The process is no longer watched: its stalls count as over.
    func close() {
        log.forget(
            process.pid,
            begun.withLock { begun in
                defer { begun = [] }
                return begun
            }
        )
    }
}
