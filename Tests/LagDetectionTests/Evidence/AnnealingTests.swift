import Testing

@testable import LagDetection

struct AnnealingTests {
    @Test func theSameStackDoublesTheGapUpToTheLongest() {
        var annealing = Annealing()
        var gaps = [annealing.gapNanoseconds]
        for _ in 0..<12 {
            annealing.note(isSame: true)
            gaps.append(annealing.gapNanoseconds)
        }
        let milliseconds: [UInt64] = [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000, 10_000]
        #expect(gaps == milliseconds.map { $0 * millisecond })
    }

    @Test func anotherStackBringsTheFirstGapBack() {
        var annealing = Annealing()
        for _ in 0..<5 { annealing.note(isSame: true) }
        annealing.note(isSame: false)
        #expect(annealing == Annealing())
        annealing.note(isSame: true)
        #expect(annealing.gapNanoseconds == 100 * millisecond)
    }

    /// What a hang costs: an hour takes some 360 looks.
    @Test func aHangIsSoonLeftAlone() {
        var annealing = Annealing()
        var (time, looks): (UInt64, Int) = (0, 0)
        while time < 3_600_000 * millisecond {
            time += annealing.gapNanoseconds
            annealing.note(isSame: true)
            looks += 1
        }
        #expect((360...370).contains(looks))
    }
}
