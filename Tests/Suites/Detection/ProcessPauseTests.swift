internal import LagModel
import TestSupport
import Testing

@testable import LagDetection

struct ProcessPauseTests {
    private let processPause = ProcessPause(from: 100, to: 200, atLeast: 60, atMost: 90)

    @Test func `the bounds of a pause fit into its window`() {
        #expect(ProcessPause(from: 100, to: 200, atLeast: 300, atMost: 400).atLeast == 100)
        #expect(ProcessPause(from: 100, to: 200, atLeast: 300, atMost: 400).atMost == 100)
        #expect(ProcessPause(from: 100, to: 200, atLeast: 80, atMost: 40).atLeast == 40)
        let backwards = ProcessPause(from: 200, to: 100, atLeast: 1, atMost: 1)
        #expect(backwards.atLeast == 0 && backwards.atMost == 0)
    }

    @Test(
        arguments: [
            (0, 300, 60, 90), (100, 200, 60, 90),  // all of the window
            (0, 100, 0, 0), (200, 300, 0, 0), (0, 50, 0, 0),  // none
            (0, 150, 10, 50), (150, 300, 10, 50),  // a half: ten of the sixty do not fit into the other half
            (120, 200, 40, 80), (100, 120, 0, 20), (130, 170, 0, 40),
            (150, 150, 0, 0), (170, 130, 0, 0),
        ] as [(UInt64, UInt64, UInt64, UInt64)]
    )
    func `a share of a pause has the expected bounds`(since: UInt64, until: UInt64, atLeast: UInt64, atMost: UInt64) {
        let share = processPause.share(from: since, until: until)
        #expect(share.atLeast == atLeast && share.atMost == atMost)
    }

    /// Wherever the pause was in its window, and whatever its length: the shares on both sides of any moment are right.
    @Test func `the shares of a pause are bounds of the real time`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            let (from, to) = (random.next() % 50, 50 + random.next() % 50)
            let begin = UInt64.random(in: from...to, using: &random)
            let end = UInt64.random(in: begin...to, using: &random)
            let length = end - begin
            let atLeast = length - random.next() % (length + 1)
            let processPause = ProcessPause(from: from, to: to, atLeast: atLeast, atMost: length + random.next() % 20)
            let since = random.next() % 100
            let until = UInt64.random(in: since...100, using: &random)
            let truth = min(end, until).saturatingDifference(max(begin, since))
            let share = processPause.share(from: since, until: until)
            #expect(share.atLeast <= truth && truth <= share.atMost)
        }
    }

    @Test(
        arguments: [(100, 100, nil, 50), (0, 100, 0, 0), (0, 100, nil, 50), (0, 100, 80, 80)]
            as [(UInt64, UInt64, UInt64?, UInt64)]
    )
    func `the likely length of a share lies where it lies in the whole pause`(
        least: UInt64,
        most: UInt64,
        likely: UInt64?,
        half: UInt64
    ) {
        let share = ProcessPause(from: 0, to: 200, atLeast: least, atMost: most, likely: likely).share(from: 100, until: 200)
        #expect(share.likely == half, "\(share)")
    }

    @Test func `two pauses are joined into one`() {
        #expect(ProcessPause.joined(nil, nil) == nil)
        #expect(ProcessPause.joined(processPause, nil) == processPause)
        #expect(ProcessPause.joined(nil, processPause) == processPause)
        let other = ProcessPause(from: 250, to: 300, atLeast: 5, atMost: 10)
        let both = ProcessPause(from: 100, to: 300, atLeast: 65, atMost: 100)
        #expect(ProcessPause.joined(processPause, other) == both)
        #expect(ProcessPause.joined(other, processPause) == both)
    }

    @Test func `joined bounds do not overflow`() {
        let long = ProcessPause(from: 0, to: .max, atLeast: .max, atMost: .max)
        #expect(ProcessPause.joined(long, long) == long)
    }
}
