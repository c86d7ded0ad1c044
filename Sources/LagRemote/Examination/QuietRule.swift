package import LagActivity

/// Whether a thread that is not in its loop's wait keeps work waiting, or rests elsewhere. Pure: facts in, verdict out.
///
/// A thread of a pool does what a loop does: it polls within a job, leaves, and waits for the next job in a futex, `accept` or `read`. A handler of
/// a loop may block in the same calls. What distinguishes them:
///
/// 1. *The object.* A wait on one connection, pipe or terminal is a blocking read; so is one on an object that the program has closed since.
///    Its thread runs no loop: whatever it does is no stall. (But what computes or sleeps while somebody has typed at its terminal keeps that one waiting.) A wait for no descriptor is a sleep: nothing can wait for a thread that waits for the
///    clock alone, and a script that sleeps between its rounds does the same. Where the thread was never found in its wait, what it computes is a stall if it
///    is the main thread: others are mostly a pool's, and poll the one connection that they serve, whose request is there already.
/// 2. *Who fetches.* While another thread waits on the same epoll instance, or has fetched from it just now, events are fetched. Where one has some
///    seconds ago, the instance is a pool's, of which each thread keeps waiting what it was asked for alone: it is a stall while something is pending.
/// 3. *Proof.* Where work is pending at the object and the thread is elsewhere, somebody waits, whatever the thread does. But for what is the program's own
///    of a set that the thread may have left.
/// 4. *The call.* A thread that computes, sleeps, or reads a file does not wait for work. One that waits for a lock, a connection, a child
///    or other events may. (Where it was never found in its wait, one that sleeps may be a program that polls once a round and sleeps in between: see ``PausePlace``.)
/// 5. *The place.* A handler is called from the loop, so what it blocks in lies deeper in the stack than the loop's wait. A thread that sleeps further
///    out has left the function that waits, and rests, unless the calls of its language show that it has not (``CallChain``).
///    (Loops that wait further in than they call handlers exist, libuv and Asio among them, whose waits have their events on the stack: of these
///    the calls are compared, see ``isQuietByPlace``. Of others a block in such a call is found once work is pending.)
package struct QuietRule: Sendable, Equatable {
    package enum Doing: Sendable, Equatable {
        /// On a processor, or in a call that is no wait for work; or asleep in a handler of a loop that sleeps between its looks (``PausePlace``).
        case working
        /// Asleep in a wait for all that its loop waits for: in a loop within a handler (a modal dialog). That is a rest.
        case waitingForAll
        /// Asleep until its own threads or children have done something, in what may be the end that its process was asked for (``EndRequest``): that is a rest.
        case ending
        /// Asleep in another wait, which is a rest while nothing is pending. For its user's terminal alone, which is one of the things that its loop waits
        /// for: it asks something (a dialog of a text program). Or for what a loop waits for, where what is taken for its loop is some seconds old and
        /// known by its place alone: that may have been a start's, further out in the stack than the loop. Or for its turn among processes, while no client is
        /// connected: another one waits for new connections. Or for the client that it serves, where its loop waits for new ones alone; or to accept
        /// one, where its loop waits for that. Or in a Java machine, while its loop has no channel (``LoopService``).
        case waitingElsewhere
        /// In a call in which a thread may wait for work.
        case waiting(isFurtherOut: Bool)
        /// In a call that lets time pass.
        case sleeping
    }

    /// Who else fetches what is ready at the object.
    package enum Sharing: Sendable, Comparable {
        case alone
        /// Another thread did, some seconds ago.
        case lately
        /// Another thread waits on it, or fetches from it again and again.
        case now
    }

    package var kind: WaitObject.Kind
    package var pending: PendingWork
    package var doing: Doing
    package var sharing: Sharing
    /// The thread has come by its source of work since the last look, without a call that shows it: it has taken completions from its ring.
    package var hasFetched = false
    package var isMainThread = true
    /// Whether what is pending is from one who asks the program for something. False: of a set of poll or select all of it is the program's own, from a pipe of it or by a
    /// connection that it made. A start that has waited there leaves such behind, and where it was on the stack does not say whether the thread is there
    /// still. Nil: that is not known.
    package var hasClientWork: Bool? = true
    /// All waits of a set were within some seconds. A start's are, after which the thread rests for good, and where on the stack it does says little: the function
    /// that waited may have been called for one wait of a loop, or have had them all.
    package var isYoung = false
    /// It is not known yet whether the thread runs a loop, and its waits are known by their place alone: a start-up's round trip looks the same. So what
    /// the kernel shows has to be a loop's object, still open.
    package var isProvisional = false

    package init(kind: WaitObject.Kind, pending: PendingWork, doing: Doing, sharing: Sharing = .alone) {
        self.kind = kind
        self.pending = pending
        self.doing = doing
        self.sharing = sharing
    }

    /// Others fetch what is ready, or would if something were.
    private var isFetchedByOthers: Bool { sharing == .now || sharing == .lately && pending == .none }

    /// Whether the thread runs a loop: what it waits on is one, and no other thread fetches from it.
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
        // Of an object that was never seen nothing says that the thread is in a handler.
        case .waiting(let isFurtherOut): return isFurtherOut || kind == .unseen
        case .sleeping: return kind == .unseen
        }
    }

    /// Whether the thread has left what is taken for its loop, as far as its stack says it, and what is pending there waits for no one.
    private var hasLeft: Bool { hasClientWork == false && doing == .waiting(isFurtherOut: true) }

    /// Whether it may be a start that is over: who asks the program for something waits for nothing.
    package var isDoubtful: Bool {
        guard isYoung, pending != .pending || hasClientWork == false else { return false }
        return switch doing {
        case .waiting, .sleeping: true
        case .working, .waitingForAll, .ending, .waitingElsewhere: false
        }
    }

    /// Whether it is quiet for its place in the stack alone.
    var isQuietByPlace: Bool {
        guard doing == .waiting(isFurtherOut: true) else { return false }
        var inHandler = self
        inHandler.doing = .waiting(isFurtherOut: false)
        return isQuiet && !inHandler.isQuiet
    }

    /// Whether it is proved that the thread runs a loop and is in a handler of it: what an action needs. What is pending at an object that a
    /// thread has left (an old connection that its other end closes) waits for nobody.
    package var isProved: Bool {
        guard kind == .loop, !isFetchedByOthers, !hasFetched else { return false }
        switch doing {
        case .waitingForAll, .ending, .waitingElsewhere, .waiting(isFurtherOut: true): return false
        case .working, .sleeping, .waiting(isFurtherOut: false): return true
        }
    }
}
