internal import LagMonitor
internal import CLagLinux
internal import Glibc
package import LagActivity
internal import LagDetection

/// A loop of another process, watched from outside: its beacon says what looks at its thread have found.
// Unchecked: the beacon, the identity and the name are immutable; the rest is the watchdog's thread's alone (``KernelView``).
package final class AttachedLoop: ObservableLoop, @unchecked Sendable {
    package let beacon = ActivityBeacon()
    package let thread: ThreadIdentity
    package let name: String

    private let semaphore: WakeSemaphore
    private var files: cll_thread_files
    private var finder: TurnFinder
    private var turns: TurnWatch
    private var results = cll_wait_results()
    private var contents: UInt64 = 0
    /// What the process was when it was found (cll_procfs_image).
    private let image: UInt64
    private var looksAtWork = 0
    private static let looksAtImage = 4
    private var isOver = false
    /// When what the loop's wait had found was last seen to be something else.
    private var changedNanoseconds: UInt64 = 0

    /// - Parameters:
    ///   - files: this object's from now on.
    ///   - semaphore: woken by the beacon.
    ///   - hold: a thread whose stretch of work is as long may be held (``TurnFinder``).
    ///   - mayCount: see ``TurnWatch``.
    init(
        _ thread: ThreadIdentity,
        at place: RestPlace,
        files: cll_thread_files,
        semaphore: WakeSemaphore,
        hold: UInt64,
        mayCount: Bool
    ) {
        self.thread = thread
        name = thread.tid == thread.process ? "main" : "thread \(thread.tid)"
        self.files = files
        self.semaphore = semaphore
        var image: UInt64 = 0
        _ = cll_procfs_image(thread.process, &image)
        self.image = image
        finder = TurnFinder(place: place, hold: hold)
        turns = TurnWatch(tid: thread.tid, mayCount: mayCount)
        semaphore.serve(beacon)
    }

    deinit { cll_thread_files_close(&files) }

    package func modeName(_ number: UInt32) -> String? { nil }

    /// Looks, and tells. Some 4 µs, and 50 more where the thread was held.
    /// - Returns: whether the thread is still there.
    func look(at now: UInt64) -> Bool {
        guard !isOver else { return false }
        noteTurns(at: now)
        var found = cll_thread_look()
        switch cll_thread_files_look(&files, &found) {
        case 0: break
        case ESRCH: return finish()
        // Of one that has ended, and was not waited for, it says that this is not permitted.
        case _ where !isLive: return finish()
        // The kernel does not say at present: no descriptor, no permission any more.
        default:
            if finder.isAtWork { beacon.mark(.notRunning) }
            finder.forget()
            return true
        }
        let sight = ThreadSight(found)
        tell(finder.note(sight, at: now))
        if finder.isAtWork {
            noteContents(at: now)
            looksAtWork += 1
            // What is at work may be on its way to another program, which rests elsewhere.
            if looksAtWork % Self.looksAtImage == 0, !isSameImage { return finish() }
        } else {
            turns.end()
            contents = 0
            results = cll_results_of_wait(&found.call)
        }
        return true
    }

    var isAtWork: Bool { finder.isAtWork && !isOver }

    private func finish() -> Bool {
        isOver = true
        turns.end()
        beacon.mark(.finished)
        return false
    }

    private var isLive: Bool { cll_thread_is_ending(thread.process, thread.tid) == 0 }

    private var isSameImage: Bool {
        var found: UInt64 = 0
        return cll_procfs_image(thread.process, &found) != 0 || found == image
    }

    /// Has it found out until the next look whether the loop goes around, if that is in doubt. Some µs then.
    func watchTurns(at now: UInt64) {
        guard turns.isLight ? finder.isInDoubt(at: now) : finder.mayBeHeld(at: now) else { return turns.end() }
        turns.begin(at: finder.place)
    }

    private func noteTurns(at now: UInt64) {
        switch turns.look() {
        case .nothing: break
        case .turn(let time): tell(finder.noteTurn(at: time ?? now))
        // Whatever its waits had found was overwritten by the next: if it was, there was one.
        case .tooManyCalls: tell(finder.noteTurn(at: changedNanoseconds))
        }
    }

    private func noteContents(at now: UInt64) {
        guard results.length > 0 else { return }
        let found = cll_read_results(thread.process, results)
        if contents != 0, found != 0, found != contents { changedNanoseconds = now }
        contents = found
    }

    private func tell(_ step: TurnFinder.Step) {
        switch step {
        case .nothing: break
        case .rest: beacon.mark(.waiting)
        case .wake(let time): beacon.wake(.afterWaiting, at: time)
        case .turn(let time): beacon.begin(.afterWaiting, at: time)
        }
    }
}
