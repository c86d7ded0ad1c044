internal import CLagLinux
internal import Glibc
internal import LagMonitor
internal import LagRemote
internal import Synchronization

/// Reports which loops of a command are watched, and finds the processes of it that the preloaded library is not in: those are watched from
/// outside where the kernel permits it, and reported where it does not.
///
/// Runs a thread: some µs each half second, and a list of the machine's processes, 10 µs each, every five.
// Unchecked: what `poll` uses is touched by its thread alone; the rest is immutable, atomic or in a Mutex.
final class WatchReporter: @unchecked Sendable {
    /// A process of the command that is not watched.
    struct Unwatched: Sendable {
        let pid: Int32
        let name: String
        let reason: String
    }

    private struct Key: Hashable {
        let pid: Int32
        let startTicks: UInt64
    }

    private let lifecycle: CommandLifecycle
    private let outside: OutsideWatch
    private let watched: @Sendable () -> [WatchedProcess]
    private let hasLibrary: @Sendable (Int32) -> Bool?
    private let isOver = Atomic(false)
    private let unwatchedNow = Mutex<[Unwatched]>([])

    private var report = WatchReport()
    private var listedAt = MonotonicTime.now
    /// Without the library when the processes were listed last.
    private var withoutLibrary: Set<Key> = []
    private var examined: Set<Key> = []
    private var linesLeft = WatchReport.lines

    /// - Parameters:
    ///   - watched: the processes that are watched now.
    ///   - hasLibrary: whether the preloaded library is active in a process; nil: it cannot be seen.
    init(
        lifecycle: CommandLifecycle,
        outside: OutsideWatch,
        watched: @escaping @Sendable () -> [WatchedProcess],
        hasLibrary: @escaping @Sendable (Int32) -> Bool?
    ) {
        self.lifecycle = lifecycle
        self.outside = outside
        self.watched = watched
        self.hasLibrary = hasLibrary
    }

    func start() throws(StartFailure) {
        try HelperThread.start("watch-reporter") { [self] in
            while !isOver.load(ordering: .acquiring) {
                poll()
                usleep(UInt32(WatchReport.interval.wholeNanoseconds / 1000))
            }
        }
    }

    func stop() { isOver.store(true, ordering: .releasing) }

    /// Those that run and are not watched. Any thread.
    var unwatched: [Unwatched] { unwatchedNow.withLock { $0 } }

    private func poll() {
        let now = MonotonicTime.now
        let root = lifecycle.status.pid
        let present = watched()
        if now - listedAt >= WatchReport.patience {
            listedAt = now
            if root != 0 { examineTree(below: root, Set(present.map(\.pid))) }
        }
        let processes = present.map { process in
            WatchReport.Process(
                pid: process.pid,
                startTicks: process.startTicks,
                name: process.name,
                loops: process.loops.map(\.name)
            )
        }
        for message in report.update(processes, command: root, name: Self.name(of: root), at: now) { lifecycle.say(message) }
    }

    private func examineTree(below root: Int32, _ watched: Set<Int32>) {
        var seen: Set<Key> = []
        var now: [Unwatched] = []
        for pid in ProcessTree.members(below: root) where !watched.contains(pid) && !outside.isWatching(pid) {
            var (ticks, status): (UInt64, cll_thread_status) = (0, cll_thread_status())
            guard cll_procfs_start_ticks(pid, &ticks) == 0, cll_procfs_status(pid, 0, &status) == 0, status.state != Self.zombie,
                hasLibrary(pid) != true
            else { continue }
            let key = Key(pid: pid, startTicks: ticks)
            seen.insert(key)
            // A short-lived one, or one between fork and exec, is nobody's miss.
            guard withoutLibrary.contains(key) else { continue }
            let name = Self.name(of: pid)
            let reason = "the library is not active: \(LibraryAbsence(of: pid))"
            let failure = outside.watch(pid)
            if let failure { now.append(Unwatched(pid: pid, name: name, reason: "\(reason); nor from outside: \(failure)")) }
            guard examined.insert(key).inserted, linesLeft > 0 else { continue }
            linesLeft -= 1
            lifecycle.say(
                failure == nil
                    ? "watching \(name) [\(pid)] from outside: \(reason)"
                    : "\(name) [\(pid)] is not watched: \(now.last?.reason ?? reason)"
            )
            if linesLeft == 0 {
                lifecycle.say("further processes without the library get no line; /healthz names those that are not watched")
            }
        }
        withoutLibrary = seen
        unwatchedNow.withLock { $0 = now }
    }

    private static let zombie = CChar(UInt8(ascii: "Z"))

    private static func name(of process: Int32) -> String {
        var name = cll_name()
        if process != 0 { cll_procfs_name(process, process, &name) }
        return withUnsafeBytes(of: name.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
