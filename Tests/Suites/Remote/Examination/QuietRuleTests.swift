internal import LagActivity
internal import Testing

@testable internal import LagRemote

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

    @Test func `a loop whose handler computes or sleeps is no quiet one`() {
        #expect(!Self.rule(.working).isQuiet)
        #expect(!Self.rule(.working, pending: nil).isQuiet)
        #expect(!Self.rule(.sleeping).isQuiet && !Self.rule(.sleeping, pending: nil).isQuiet)
        #expect(!Self.rule(.sleeping, of: .unknown).isQuiet)
    }

    @Test func `what a handler waits for lies further in than the loops wait`() {
        #expect(!Self.rule(.waiting(isFurtherOut: false)).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: true)).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: true), pending: nil).isQuiet)
    }

    @Test func `the place alone makes a loop quiet that waits for something else and has no work`() {
        #expect(Self.rule(.waiting(isFurtherOut: true)).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), of: .peer).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), of: .unseen).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: true), sharing: .now).isQuietByPlace)
        #expect(!Self.rule(.waiting(isFurtherOut: false)).isQuietByPlace && !Self.rule(.waitingElsewhere).isQuietByPlace)
    }

    @Test func `work that waits is proof wherever the thread sleeps`() {
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: false), pending: true).isProved)
        // The thread may have left the object for good.
        #expect(!Self.rule(.waiting(isFurtherOut: true), pending: true).isProved)
    }

    @Test func `a young loop that rests while no client waits may be a start that is over`() {
        func isDoubtful(_ doing: QuietRule.Doing, pending: Bool? = false, hasClientWork: Bool? = true, isYoung: Bool = true)
            -> Bool
        {
            var rule = Self.rule(doing, pending: pending)
            rule.isYoung = isYoung
            rule.hasClientWork = hasClientWork
            return rule.isDoubtful
        }
        for doing in [QuietRule.Doing.waiting(isFurtherOut: false), .sleeping] {
            #expect(isDoubtful(doing) && isDoubtful(doing, pending: nil))
            #expect(isDoubtful(doing, pending: true, hasClientWork: false))
            #expect(!isDoubtful(doing, pending: true) && !isDoubtful(doing, pending: true, hasClientWork: nil))
            #expect(!isDoubtful(doing, isYoung: false))
        }
        #expect(!isDoubtful(.working))
    }

    @Test func `a loop that sleeps between its looks has its handlers further in`() {
        var pause = PausePlace()
        for word in 0..<2 { pause.record(10_000, in: UInt64(word)) }
        #expect(!pause.isHandler(9000))
        // The same turn again.
        pause.record(10_000, in: 1)
        #expect(!pause.isHandler(9000))
        pause.record(9960, in: 2)
        #expect(pause.isHandler(9000) && !pause.isHandler(9960) && !pause.isHandler(20_000))
        // What a handler sleeps is none, however often.
        for word in 3..<8 { pause.record(9000, in: UInt64(word)) }
        #expect(pause.isHandler(9000))
        // A start's sleep was none either.
        var other = PausePlace()
        other.record(20_000, in: 0)
        for word in 1..<4 { other.record(10_000, in: UInt64(word)) }
        #expect(other.isHandler(9000) && !other.isHandler(10_000))
    }

    @Test func `what waits for one party or on a closed object runs no loop`() {
        for kind in [WaitObject.Kind.peer, .gone] {
            for doing in [QuietRule.Doing.working, .waiting(isFurtherOut: false)] {
                #expect(Self.rule(doing, of: kind, pending: true).isQuiet)
                #expect(!Self.rule(doing, of: kind, pending: true).isProved)
            }
        }
    }

    @Test func `work on an instance that another thread waits on is fetched`() {
        #expect(Self.rule(.working, pending: true, sharing: .now).isQuiet)
        #expect(!Self.rule(.working, pending: true, sharing: .now).isProved)
    }

    @Test func `of an instance that others fetched from lately a thread keeps waiting what is pending alone`() {
        for doing in [QuietRule.Doing.working, .sleeping, .waiting(isFurtherOut: false)] {
            #expect(Self.rule(doing, sharing: .lately).isQuiet && !Self.rule(doing, sharing: .lately).isProved)
            #expect(!Self.rule(doing, pending: true, sharing: .lately).isQuiet)
            #expect(!Self.rule(doing, pending: nil, sharing: .lately).isQuiet)
        }
    }

    @Test func `what is the programs own of a set that the thread has left waits for no one`() {
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
        // In a handler, as far as the stack says it.
        #expect(!isQuiet(.waiting(isFurtherOut: false), hasClientWork: false) && !isQuiet(.sleeping, hasClientWork: false))
        #expect(!isQuiet(.working, hasClientWork: false))
    }

    @Test func `nothing is proved of an object that was never seen`() {
        let unseen = Self.rule(.working, of: .unseen, pending: nil)
        #expect(!unseen.isQuiet && !unseen.isProved)
        // A pool's thread polls its connection, whose request is there already.
        var pools = unseen
        pools.isMainThread = false
        #expect(pools.isQuiet)
        #expect(Self.rule(.waiting(isFurtherOut: false), of: .unseen, pending: nil).isQuiet)
        // It may poll once a round, and sleep in between.
        #expect(Self.rule(.sleeping, of: .unseen, pending: nil).isQuiet)
        // Where the kernel refuses, a loop is what its process says to be one: good for a line, and not for an action.
        #expect(!Self.rule(.working, of: .unknown, pending: nil).isQuiet)
        #expect(!Self.rule(.working, of: .unknown, pending: nil).isProved)
        #expect(Self.rule(.working).isProved)
    }

    /// A wait for no descriptor is a sleep: nothing but the clock can come.
    @Test func `nothing waits for a thread that waits for time alone`() {
        for doing in [QuietRule.Doing.working, .sleeping, .waiting(isFurtherOut: false)] {
            #expect(Self.rule(doing, of: .timer).isQuiet && !Self.rule(doing, of: .timer).isProved)
        }
    }

    @Test func `a loop within a handler that waits for all of it is a rest`() {
        #expect(Self.rule(.waitingForAll).isQuiet && Self.rule(.waitingForAll, pending: nil).isQuiet)
        // What was pending was fetched there.
        #expect(Self.rule(.waitingForAll, pending: true).isQuiet && !Self.rule(.waitingForAll, pending: true).isProved)
    }

    @Test func `who was asked to end and waits for its own workers keeps no one waiting`() {
        #expect(Self.rule(.ending, pending: true).isQuiet && !Self.rule(.ending, pending: true).isProved)
        let end = EndRequest()
        #expect(!end.mayBeEnd(since: 0, at: 7))
        end.record(at: MonotonicTime(nanoseconds: 1000))
        #expect(end.mayBeEnd(since: 1000, at: 1000) && end.mayBeEnd(since: 1_900_000_000, at: 9_000_000_000))
        // A stall that had begun before, a loop that serves on, and an end that takes long.
        #expect(!end.mayBeEnd(since: 999, at: 2000))
        #expect(!end.mayBeEnd(since: 2_000_001_000, at: 2_000_002_000) && !end.mayBeEnd(since: 1000, at: 10_000_001_000))
    }

    @Test func `a question to the user, or a loop after a start, is a rest while nothing is pending`() {
        #expect(Self.rule(.waitingElsewhere).isQuiet && Self.rule(.waitingElsewhere, pending: nil).isQuiet)
        #expect(!Self.rule(.waitingElsewhere, pending: true).isQuiet)
        // Nobody is served by the end of a program that its user has not answered yet.
        #expect(!Self.rule(.waitingElsewhere, pending: true).isProved)
    }

    @Test func `what computes or sleeps while somebody types at its terminal keeps them waiting`() {
        #expect(!Self.rule(.working, of: .terminal, pending: true).isQuiet)
        #expect(!Self.rule(.sleeping, of: .terminal, pending: true).isQuiet && Self.rule(.sleeping, of: .terminal).isQuiet)
        #expect(!Self.rule(.working, of: .terminal, pending: true).isProved)
        #expect(Self.rule(.working, of: .terminal).isQuiet)
        // A shell that waits for the command which the line is for.
        #expect(Self.rule(.waiting(isFurtherOut: false), of: .terminal, pending: true).isQuiet)
    }

    @Test func `a servers helper is quiet unless work is pending`() {
        #expect(Self.rule(.working, of: .helper).isQuiet && Self.rule(.working, of: .helper, pending: nil).isQuiet)
        #expect(!Self.rule(.working, of: .helper, pending: true).isQuiet)
        #expect(!Self.rule(.working, of: .helper, pending: true).isProved)
    }

    /// A round trip of a start looks the same but for its object.
    @Test func `of what may be no loop a loops object is wanted`() {
        func isQuiet(_ kind: WaitObject.Kind) -> Bool {
            var rule = Self.rule(.working, of: kind, pending: nil)
            rule.isProvisional = true
            return rule.isQuiet
        }
        #expect(!isQuiet(.loop))
        for kind in [WaitObject.Kind.timer, .unseen, .unknown, .peer, .gone] { #expect(isQuiet(kind), "\(kind)") }
    }
}
