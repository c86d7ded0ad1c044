internal import CLibunwind
internal import Glibc
internal import LagActivity
internal import LagDetection
package import LagReport
internal import Synchronization

/// Watches every loop that tells itself in a page: a monitor for each process, made when its first loop comes, ended when the
/// process does. What a process was stalled in when it died comes out as `abandoned`.
///
/// One thread of its own, which sleeps until a loop has something to tell; while there are loops it looks once a second whether
/// their processes are still there. Records of all processes go to the same sink.
// Unchecked: what `run` uses is touched by its thread alone; the rest is immutable, atomic or in a Mutex.
package final class PageWatch: @unchecked Sendable {
    /// A process with loops.
    private struct Watched {
        let monitor: LagMonitor
        let semaphore: WakeSemaphore
        let startTicks: UInt64
        var loops: [UInt32: RemoteLoop] = [:]
    }

    package let page: SharedPage
    private let configuration: LagMonitorConfiguration
    private let sink: any RecordSink
    private let complain: @Sendable (String) -> Void
    private var processes: [Int32: Watched] = [:]
    private let past = Mutex(LagMonitorStatistics())
    private let watching = Mutex<[LagMonitor]>([])
    private let loopCount = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let thread = Mutex<WorkerThread?>(nil)

    private static let checkNanoseconds: UInt64 = 1_000_000_000

    /// - Parameter complain: told in a line what cannot be watched, and why.
    package init(
        page: SharedPage,
        configuration: LagMonitorConfiguration,
        sink: any RecordSink,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.page = page
        // One file for all of them; and lagmond, which keeps it, does not die with them.
        var configuration = configuration
        configuration.unfinishedPath = nil
        self.configuration = configuration
        self.sink = sink
        self.complain = complain
    }

    package func start() throws(LagMonitorError) {
        let thread = try WorkerThread(name: "lag-page", submitsToQueues: false) { [self] in run() }
        self.thread.withLock { $0 = thread }
    }

    /// Ends every watch. Stalls in progress become `abandoned` lines.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        page.wake()
        _ = thread.withLock { $0.take() }?.join(until: clu_now_ns() + 3_000_000_000)
    }

    /// The counts of all processes that are not watched any more.
    package var statistics: LagMonitorStatistics { past.withLock { $0 } }

    /// Stalls of the processes that are watched now, found so far.
    package var stallsInProgress: UInt64 {
        watching.withLock { $0.reduce(0) { $0 + $1.statistics.stalls - $1.statistics.reported } }
    }

    /// Loops that are watched now.
    package var watchedLoops: Int { loopCount.load(ordering: .relaxed) }

    private func run() {
        while !stopping.load(ordering: .acquiring) {
            let answered = page.drain()
            look()
            loopCount.store(processes.values.reduce(0) { $0 + $1.loops.count }, ordering: .relaxed)
            // Whose beacon it was is not said; a look at loops that did not move costs next to nothing.
            for watched in processes.values { watched.semaphore.post(answeredAt: answered) }
            page.wait(until: processes.isEmpty ? .max : clu_now_ns() + Self.checkNanoseconds)
        }
        for process in Array(processes.keys) { end(process) }
    }

    private func look() {
        for index in 0..<UInt32(CLU_PAGE_SLOTS) {
            guard let loop = page.loop(at: index) else { continue }
            if loop.isOver {
                forget(loop)
            } else if processes[loop.process]?.loops[index]?.claim != loop.claim {
                begin(loop)
            }
        }
        for (process, watched) in processes {
            guard let owner = page.owner(of: process, stackPointer: 0), owner.startTicks == watched.startTicks else {
                end(process)
                continue
            }
        }
    }

    private func begin(_ loop: SharedPage.Loop) {
        guard let owner = page.owner(of: loop.process, stackPointer: loop.waitStackPointer), owner.mapsPage else {
            return page.free(loop)
        }
        if let watched = processes[loop.process], watched.startTicks != owner.startTicks { end(loop.process) }
        do throws(LagMonitorError) {
            var watched: Watched
            if let known = processes[loop.process] { watched = known } else { watched = try make(loop.process, owner) }
            let remote = RemoteLoop(loop, owner, in: page)
            if let earlier = watched.loops[loop.index] { watched.monitor.unwatch(earlier) }
            watched.loops[loop.index] = remote
            processes[loop.process] = watched
            try watched.monitor.watch(remote)
        } catch {
            complain("cannot watch process \(loop.process): \(error)")
            page.free(loop)
        }
    }

    private func make(_ process: Int32, _ owner: SharedPage.Owner) throws(LagMonitorError) -> Watched {
        let semaphore = WakeSemaphore()
        var context = ProcessContext.of(process)
        context.serviceName = configuration.serviceName
        context.serviceVersion = configuration.serviceVersion
        let monitor = LagMonitor(of: context, semaphore: semaphore, configuration: configuration, sinks: [BorrowedSink(sink)])
        try monitor.start()
        watching.withLock { $0.append(monitor) }
        return Watched(monitor: monitor, semaphore: semaphore, startTicks: owner.startTicks)
    }

    private func forget(_ loop: SharedPage.Loop) {
        if let remote = processes[loop.process]?.loops.removeValue(forKey: loop.index) {
            processes[loop.process]?.monitor.unwatch(remote)
        }
        page.free(loop)
    }

    private func end(_ process: Int32) {
        guard let watched = processes.removeValue(forKey: process) else { return }
        watched.monitor.stop()
        watching.withLock { $0.removeAll { $0 === watched.monitor } }
        past.withLock { $0 += watched.monitor.statistics }
        for index in watched.loops.keys {
            if let loop = page.loop(at: index), loop.process == process { page.free(loop) }
        }
    }
}
