internal import LagActivity
internal import Testing

@testable internal import LagRemote

/// A loop is quiet if it keeps no work waiting. It is proved if it certainly runs a loop and is in a handler.
struct QuietRuleTests {
    private static func rule(
        _ doing: QuietRule.Doing,
        of kind: WaitObject.Kind = .loop,
        pending: Bool? = false,
        sharing: QuietRule.Sharing = .alone
    ) -> QuietRule {
        QuietRule(
            kind: kind,
            pending: pending.map { $0 ? .pending : .none } ?? .unknown,
            doing: doing,
            sharing: sharing
        )
    }

    @Test func `a loop whose handler computes or sleeps is not quiet`() {
        #expect(!Self.rule(.working).isQuiet)
        #expect(!Self.rule(.working, pending: nil).isQuiet)
        #expect(!Self.rule(.sleeping).isQuiet && !Self.rule(.sleeping, pending: nil).isQuiet)
        #expect(!Self.rule(.sleeping, of: .unknown).isQuiet)
    }

    @Test func `a wait deeper in the stack than the wait of the loop is in a handler and not quiet`() {
        #expect(!Self.rule(.waiting(isFurtherOut: false)).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: true)).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: true), pending: nil).isQuiet)
    }

    @Test func `only the stack depth of another wait makes a loop without pending work quiet by place`() {
        #expect(Self.rule(.waiting(isFurtherOut: true)).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), of: .peer).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), of: .unseen).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), sharing: .now).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: false)).isQuietByPlace && !Self.rule(.waitingElsewhere).isQuietByPlace)
    }

    @Test func `a loop with pending work is not quiet, wherever its thread sleeps`() {
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: false), pending: true).isProved)
        // The thread may have left the object for good.
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isProved)
    }

    @Test func `a young loop that sleeps while no client waits may be a completed startup`() {
        func young(_ doing: QuietRule.Doing, pending: Bool? = false, hasClientWork: Bool? = true, isYoung: Bool = true)
            -> QuietRule
        {
            var rule = Self.rule(doing, pending: pending)
            rule.isYoung = isYoung
            rule.hasClientWork = hasClientWork
            return rule
        }
        func isDoubtful(_ doing: QuietRule.Doing, pending: Bool? = false, hasClientWork: Bool? = true, isYoung: Bool = true)
            -> Bool
        { young(doing, pending: pending, hasClientWork: hasClientWork, isYoung: isYoung).isDoubtful }
        for doing in [QuietRule.Doing.waiting(isFurtherOut: false), .sleeping] {
            #expect(isDoubtful(doing) && isDoubtful(doing, pending: nil))
            #expect(isDoubtful(doing, pending: true, hasClientWork: false))
            #expect(!isDoubtful(doing, pending: true) && !isDoubtful(doing, pending: true, hasClientWork: nil))
            #expect(!isDoubtful(doing, isYoung: false))
        }
        #expect(!isDoubtful(.working))
        // It may compute between its rest and its exit, but a rest at the loop's own place, or a client, refutes the doubt.
        #expect(young(.working).keepsDoubt && young(.working, pending: true, hasClientWork: false).keepsDoubt)
        #expect(!young(.working, pending: true).keepsDoubt && !young(.working, isYoung: false).keepsDoubt)
        #expect(!young(.waitingForAll).keepsDoubt && !young(.waitingElsewhere).keepsDoubt)
    }

    @Test func `for a loop that sleeps between polls, a deeper sleep is in a handler`() {
        var pause = PausePlace()
        for word in 0..<2 { pause.record(10_000, in: UInt64(word)) }
        #expect(!pause.isHandler(9000))
        // The same iteration again.
        pause.record(10_000, in: 1)
        #expect(!pause.isHandler(9000))
        pause.record(9960, in: 2)
        #expect(pause.isHandler(9000) && !pause.isHandler(9960) && !pause.isHandler(20_000))
        // A sleep in a handler does not become the pause, however often it recurs.
        for word in 3..<8 { pause.record(9000, in: UInt64(word)) }
        #expect(pause.isHandler(9000))
        // Nor does a sleep during startup.
        var other = PausePlace()
        other.record(20_000, in: 0)
        for word in 1..<4 { other.record(10_000, in: UInt64(word)) }
        #expect(other.isHandler(9000) && !other.isHandler(10_000))
    }

    @Test func `a thread that waits for a single peer or on a closed object runs no loop`() {
        for kind in [WaitObject.Kind.peer, .gone] {
            for doing in [QuietRule.Doing.working, .waiting(isFurtherOut: false)] {
                #expect(Self.rule(doing, of: kind, pending: true).isQuiet)
                #expect(!Self.rule(doing, of: kind, pending: true).isProved)
            }
        }
    }

    @Test func `work on an instance that another thread waits on does not count as waiting`() {
        #expect(Self.rule(.working, pending: true, sharing: .now).isQuiet)
        #expect(!Self.rule(.working, pending: true, sharing: .now).isProved)
    }

    @Test func `on an instance that others fetched from recently, only pending work counts as waiting`() {
        for doing in [QuietRule.Doing.working, .sleeping, .waiting(isFurtherOut: false)] {
            #expect(Self.rule(doing, sharing: .lately).isQuiet && !Self.rule(doing, sharing: .lately).isProved)
            #expect(!Self.rule(doing, pending: true, sharing: .lately).isQuiet)
            #expect(!Self.rule(doing, pending: nil, sharing: .lately).isQuiet)
        }
    }

    @Test func `pending work from the program itself does not count after the thread left the set`() {
        func isQuiet(_ doing: QuietRule.Doing, hasClientWork: Bool?) -> Bool {
            var rule = Self.rule(doing, pending: true)
            rule.hasClientWork = hasClientWork
            return rule.isQuiet
        }
        let further = QuietRule.Doing.waiting(isFurtherOut: true)
        #expect(isQuiet(further, hasClientWork: false))
        #expect(!isQuiet(further, hasClientWork: true) && !isQuiet(further, hasClientWork: nil))
        // In a dialog.
        #expect(!isQuiet(.waitingElsewhere, hasClientWork: false))
        // In a handler, according to the stack.
        #expect(!isQuiet(.waiting(isFurtherOut: false), hasClientWork: false) && !isQuiet(.sleeping, hasClientWork: false))
        #expect(!isQuiet(.working, hasClientWork: false))
    }

    @Test func `nothing is proved about an object that was never seen`() {
        let unseen = Self.rule(.working, of: .unseen, pending: nil)
        #expect(!unseen.isQuiet && !unseen.isProved)
        // A pool thread polls its connection, whose request has already arrived.
        var pools = unseen
        pools.isMainThread = false
        #expect(pools.isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: false), of: .unseen, pending: nil).isQuiet)
        // It may poll once per round and sleep in between.
        #expect(Self.rule(.sleeping, of: .unseen, pending: nil).isQuiet)
        // If the kernel refuses access, the process's own claim of a loop suffices for a record, but not for an action.
        #expect(!Self.rule(.working, of: .unknown, pending: nil).isQuiet)
        #expect(!Self.rule(.working, of: .unknown, pending: nil).isProved)
        #expect(Self.rule(.working).isProved)
    }

    /// A wait without descriptors is a sleep: only the clock can end it.
    @Test func `a thread that waits only for a timer keeps no work waiting`() {
        for doing in [QuietRule.Doing.working, .sleeping, .waiting(isFurtherOut: false)] {
            #expect(Self.rule(doing, of: .timer).isQuiet && !Self.rule(doing, of: .timer).isProved)
        }
    }

    @Test func `a nested loop that waits for all objects of the outer loop is quiet`() {
        #expect(Self.rule(.waitingForAll).isQuiet && Self.rule(.waitingForAll, pending: nil).isQuiet)
        // The nested loop fetches pending work.
        #expect(Self.rule(.waitingForAll, pending: true).isQuiet && !Self.rule(.waitingForAll, pending: true).isProved)
    }

    @Test func `a terminating process that waits for its own workers is quiet`() {
        #expect(Self.rule(.ending, pending: true).isQuiet && !Self.rule(.ending, pending: true).isProved)
        let end = EndRequest()
        #expect(!end.mayBeEnd(since: 0, at: 7))
        end.record(at: MonotonicTime(nanoseconds: 1000))
        #expect(end.mayBeEnd(since: 1000, at: 1000) && end.mayBeEnd(since: 1_900_000_000, at: 9_000_000_000))
        // A stall that began before the request, a loop that continues to serve, and a termination that takes long.
        #expect(!end.mayBeEnd(since: 999, at: 2000))
        #expect(!end.mayBeEnd(since: 2_000_001_000, at: 2_000_002_000) && !end.mayBeEnd(since: 1000, at: 10_000_001_000))
    }

    @Test func `a user prompt, or a loop after startup, is quiet while nothing is pending`() {
        #expect(Self.rule(.waitingElsewhere).isQuiet && Self.rule(.waitingElsewhere, pending: nil).isQuiet)
        #expect(!Self.rule(.waitingElsewhere, pending: true).isQuiet)
        // Terminating a program whose user has not answered yet helps no one.
        #expect(!Self.rule(.waitingElsewhere, pending: true).isProved)
    }

    @Test func `a program that computes or sleeps while terminal input is pending is not quiet`() {
        #expect(!Self.rule(.working, of: .terminal, pending: true).isQuiet)
        #expect(!Self.rule(.sleeping, of: .terminal, pending: true).isQuiet && Self.rule(.sleeping, of: .terminal).isQuiet)
        #expect(!Self.rule(.working, of: .terminal, pending: true).isProved)
        #expect(Self.rule(.working, of: .terminal).isQuiet)
        // A shell that waits for the command that will read the line.
        #expect(Self.rule(.waiting(isFurtherOut: false), of: .terminal, pending: true).isQuiet)
    }

    @Test func `a helper thread of a server is quiet unless work is pending`() {
        #expect(Self.rule(.working, of: .helper).isQuiet && Self.rule(.working, of: .helper, pending: nil).isQuiet)
        #expect(!Self.rule(.working, of: .helper, pending: true).isQuiet)
        #expect(!Self.rule(.working, of: .helper, pending: true).isProved)
    }

    /// A round trip during startup differs only in its object.
    @Test func `a provisional loop is quiet unless its object is that of a loop`() {
        func isQuiet(_ kind: WaitObject.Kind) -> Bool {
            var rule = Self.rule(.working, of: kind, pending: nil)
            rule.isProvisional = true
            return rule.isQuiet
        }
        #expect(!isQuiet(.loop))
        for kind in [WaitObject.Kind.timer, .unseen, .unknown, .peer, .gone] { #expect(isQuiet(kind), "\(kind)") }
    }
}
