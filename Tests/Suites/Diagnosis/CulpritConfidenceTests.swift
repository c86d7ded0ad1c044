import LagDiagnosis
import Testing

/// What lowers the confidence in the blamed function.
struct CulpritConfidenceTests: CulpritStacks {
    @Test func `a callee whose name was lost lowers the confidence in its caller`() {
        var stack = stack(9, "?1 checkout main")
        stack.frames[0].isInterpreter = true
        #expect(isClose(Culprit(stacks: [stack])?.confidence, 0.7))
        stack.frames[0].isNameLost = true
        #expect(blamed([stack]) == "checkout")
        #expect(isClose(Culprit(stacks: [stack])?.confidence, 0.35))
    }

    @Test func `a lambda known only from the name of a template has less confidence`() {
        var named = stack(9, "lambda [std::sort] main")
        #expect(isClose(Culprit(stacks: [named])?.confidence, 0.7))
        named.frames[0].isFromTemplate = true
        #expect(blamed([named]) == "lambda")
        #expect(isClose(Culprit(stacks: [named])?.confidence, 0.49))
        // If one of its own frames shows it too, it is as certain as another function.
        let own = stack(9, "lambda main")
        #expect((Culprit(stacks: [named, own])?.confidence ?? 0) > 0.8)
    }

    @Test func `a function that may belong to a library has less confidence`() {
        var doubtful = stack(9, "deflate checkout main")
        doubtful.frames[0].isDoubtful = true
        #expect(blamed([doubtful]) == "deflate")
        #expect(isClose(Culprit(stacks: [doubtful])?.confidence, 0.42))
    }

    @Test func `a function without a line may contain an inlined one, most likely one that a pointer called`() {
        var running = stack(9, "checkout main")
        running.frames[0].hidesInlined = true
        #expect(isClose(Culprit(stacks: [running])?.confidence, 0.7 * 0.8))
        running.frames[0].isCalledDirectly = false
        #expect(isClose(Culprit(stacks: [running])?.confidence, 0.7 * 0.62))
        var calling = stack(9, "[memcpy] checkout main")
        calling.frames[1].hidesInlined = true
        #expect(isClose(Culprit(stacks: [calling])?.confidence, 0.7 * 0.87))
        calling.frames[1].isCalledDirectly = false
        #expect(isClose(Culprit(stacks: [calling])?.confidence, 0.7 * 0.62))
        for place in 0...1 {
            var direct = place == 0 ? running : calling
            direct.frames[place].isCalledDirectly = true
            #expect(isClose(Culprit(stacks: [direct])?.confidence, 0.7 * 0.87))
        }
    }

    @Test func `a library's callback that has called another function is more likely to blame`() {
        var calling = stack(9, "[memcpy] compare [qsort] main")
        calling.frames[1].hidesInlined = true
        calling.frames[1].isCalledDirectly = false
        #expect(isClose(Culprit(stacks: [calling])?.confidence, 0.7 * 0.62))
        calling.frames[1].isCalledByLibrary = true
        #expect(isClose(Culprit(stacks: [calling])?.confidence, 0.7 * 0.9))
        var running = stack(9, "compare [qsort] main")
        running.frames[0].hidesInlined = true
        running.frames[0].isCalledDirectly = false
        running.frames[0].isCalledByLibrary = true
        #expect(isClose(Culprit(stacks: [running])?.confidence, 0.7 * 0.62))
        #expect(isClose(Culprit(stacks: [running, calling])?.confidence, 0.85 * 0.76))
    }

    @Test func `a single sample and a missing root lower the confidence`() {
        #expect(isClose(Culprit(stacks: [stack(5, "f main")])?.confidence, 0.7))
        #expect(isClose(Culprit(stacks: [stack(5, "f main", isComplete: false)])?.confidence, 0.7 * 0.8))
        let half = [stack(5, "f main"), stack(5, "f main", isComplete: false)]
        #expect(isClose(Culprit(stacks: half)?.confidence, 0.85 * 0.9))
    }

    @Test func `one heavy sample among light ones gives little more confidence than a single sample`() throws {
        let even = try #require(Culprit(stacks: [stack(10, "f"), stack(10, "f"), stack(10, "f")])).confidence
        let uneven = try #require(Culprit(stacks: [stack(1, "f"), stack(1, "f"), stack(98, "f")])).confidence
        #expect(uneven > 0.7 && uneven < 0.72 && even > 0.89)
    }

    @Test func `samples without a stack lower the confidence but do not change the culprit`() {
        let stacks = [stack(10, "f A"), stack(10, "f A"), stack(20, "")]
        #expect(blamed(stacks) == "f")
        #expect(isClose(Culprit(stacks: stacks)?.confidence, 0.5 * 0.85))
        #expect(isClose(Culprit(stacks: stacks)?.matchedShare, 0.5))
    }
}
