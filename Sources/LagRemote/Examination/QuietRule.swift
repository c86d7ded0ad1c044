package import LagActivity

/// Decides whether a thread that is not in its loop's wait keeps work waiting, or rests elsewhere. Pure: facts in, result out.
///
/// A pool's thread behaves like a loop: it polls within a job, leaves, and waits for the next job in a futex, `accept` or `read`.
/// A handler of a loop may block in the same calls. These criteria distinguish them:
///
/// 1. *The object.* A wait on one connection, pipe or terminal is a blocking read; so is one on an object that the program has
///    closed since. Such a thread runs no loop, and does not stall. (But if it computes or sleeps after the user has typed at its
///    terminal or window, the user waits. What a display server sends unasked looks the same.) A wait without descriptors is a
///    sleep: no work can wait for such a thread, for example a script that sleeps between its rounds. If the thread was never
///    found in its wait, its computation is a stall only if it is the main thread: other threads mostly belong to pools, and poll
///    the one connection that they serve, whose request has already arrived.
/// 2. *Who fetches.* While another thread waits on the same epoll instance, or has just fetched from it, events are fetched. If
///    one did so some seconds ago, the instance belongs to a pool, whose threads each delay only their own requests: it is a
///    stall while events are pending.
/// 3. *Proof.* If work is pending at the object and the thread is elsewhere, a client waits, whatever the thread does. The
///    exception is the program's own events of a set that the thread may have left.
/// 4. *The call.* A thread that computes, sleeps, or reads a file does not wait for work. A thread that waits for a lock, a
///    connection, a child or other events may. (If it was never found in its wait, a sleeping thread may be a program that polls
///    once per round and sleeps in between: see ``PausePlace``.)
/// 5. *The place.* A handler is called from the loop, so it blocks deeper in the stack than the loop's wait. A thread that sleeps
///    further out has left the function that waits, and rests, unless the calls of its language show otherwise (``CallChain``).
///    (Some loops, such as libuv and Asio, wait deeper than they call handlers, with their events on the stack: for these, the
///    calls are compared, see ``isQuietByPlace``. For others, a block in such a call is found once work is pending.)
package struct QuietRule: Sendable, Equatable {
    package enum Doing: Sendable, Equatable {
        /// On a processor, or in a call that is not a wait for work; or asleep in a handler of a polling loop (``PausePlace``).
        case working
        /// Asleep in a wait for everything that its loop waits for: in a loop within a handler (a modal dialog). That is a rest.
        case waitingForAll
        /// Asleep until its own threads or children have done something, possibly in the requested end of its process
        /// (``EndRequest``): that is a rest.
        case ending
        /// Asleep in another wait, which is a rest while nothing is pending. It waits only for its user's terminal, which is one
        /// of its loop's descriptors: a question (a dialog of a text program). Or for a loop's object, while its assumed loop is
        /// some seconds old and known only by its place: that may have been a start, further out in the stack than the loop. Or
        /// for its turn among processes, while no client is connected: another process waits for new connections. Or for the
        /// client that it serves, while its loop waits only for new ones; or to accept one, if its loop waits for that. Or in a
        /// JVM, while its loop has no channel (``LoopService``).
        case waitingElsewhere
        /// In a call in which a thread may wait for work.
        case waiting(isFurtherOut: Bool)
        /// In a call that sleeps for a time.
        case sleeping
    }

    /// Which other thread fetches the ready events of the object.
    package enum Sharing: Sendable, Comparable {
        case alone
        /// Another thread did, some seconds ago.
        case lately
        /// Another thread waits on it, or repeatedly fetches from it.
        case now
    }

    package var kind: WaitObject.Kind
    package var pending: PendingWork
    package var doing: Doing
    package var sharing: Sharing
    /// Whether the thread has returned to its source of work since the last examination without a visible call: it has taken
    /// completions from its ring.
    package var hasFetched = false
    package var isMainThread = true
    /// Whether work is known to be pending only because the thread has been at the same work since there was none.
    package var isByStretch = false
    /// Whether the pending events come from a client or user. False: the object is a set of poll or select, and all its events
    /// are the program's own, from its own pipe or a connection that it made. A start that has waited there leaves such events
    /// behind, and its stack position does not show whether the thread is still there. Nil: not known.
    package var hasClientWork: Bool? = true
    /// Whether all waits of a set were within some seconds, as for a start, after which the thread rests for good. The stack
    /// position shows little: the waiting function may have been called for one wait of a loop, or for all of them.
    package var isYoung = false
    /// Whether it is not yet known if the thread runs a loop, and its waits are known only by their place: a round trip of a
    /// start looks the same. So the kernel must show a loop's object that is still open.
    package var isProvisional = false

    package init(kind: WaitObject.Kind, pending: PendingWork, doing: Doing, sharing: Sharing = .alone) {
        self.kind = kind
        self.pending = pending
        self.doing = doing
        self.sharing = sharing
    }

    /// Whether others fetch ready events, or would if there were any.
    private var isFetchedByOthers: Bool { sharing == .now || sharing == .lately && pending == .none }

    /// Whether the thread runs a loop: it waits on a loop's object, and no other thread fetches from it.
    package var isLoop: Bool {
        switch kind {
        case .loop: !isFetchedByOthers
        case .unknown, .unseen: !isFetchedByOthers && !isProvisional
        case .helper: pending == .pending
        case .terminal: pending == .pending && (doing == .working || doing == .sleeping)
        case .timer, .peer, .gone: false
        }
    }

    /// Whether it keeps nothing waiting.
    package var isQuiet: Bool {
        guard isLoop, !hasFetched, doing != .waitingForAll, doing != .ending else { return true }
        if pending == .pending { return hasLeft }
        switch doing {
        case .working: return kind == .unseen && !isMainThread
        case .waitingForAll, .ending, .waitingElsewhere: return true
        // For an object that was never seen, nothing shows that the thread is in a handler.
        case .waiting(let isFurtherOut): return isFurtherOut || kind == .unseen
        case .sleeping: return kind == .unseen
        }
    }

    /// Whether the thread has left its assumed loop, as far as its stack shows, and the pending events there do not wait for it.
    private var hasLeft: Bool { hasClientWork == false && doing == .waiting(isFurtherOut: true) }

    /// Whether it may be a finished start: no client of the program waits for anything.
    package var isDoubtful: Bool {
        guard mayBeStart else { return false }
        return switch doing {
        case .waiting, .sleeping: true
        case .working, .waitingForAll, .ending, .waitingElsewhere: false
        }
    }

    /// Whether this does not refute an earlier doubt: after its rest, such a program computes before it exits.
    package var keepsDoubt: Bool {
        guard mayBeStart, case .working = doing else { return false }
        return true
    }

    private var mayBeStart: Bool { isYoung && (pending != .pending || hasClientWork == false) }

    /// Whether it is quiet only because of its place in the stack.
    var isQuietByPlace: Bool {
        guard doing == .waiting(isFurtherOut: true) else { return false }
        var inHandler = self
        inHandler.doing = .waiting(isFurtherOut: false)
        return isQuiet && !inHandler.isQuiet
    }

    /// Whether work is pending at the loop's object, and the thread waits at a place that may be outside of its loop.
    var isPendingElsewhere: Bool { kind == .loop && pending == .pending && doing == .waiting(isFurtherOut: true) }

    /// Whether it is proved that the thread runs a loop and is in a handler of it, as an action needs. Events that are pending at
    /// an object that a thread has left (an old connection that its other end closes) are not waiting work.
    package var isProved: Bool {
        guard kind == .loop, !isFetchedByOthers, !hasFetched else { return false }
        switch doing {
        case .waitingForAll, .ending, .waitingElsewhere, .waiting(isFurtherOut: true): return false
        case .working, .sleeping, .waiting(isFurtherOut: false): return true
        }
    }
}
