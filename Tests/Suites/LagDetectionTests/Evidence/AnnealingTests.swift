import Testing

@testable import LagDetection

struct AnnealingTests {
    @Test func theSameStackDoublesTheGapUpToTheLongest() {
        var annealing = Annealing()
        var gaps = [annealing.gapNanoseconds]
        for _ in 0..<12 {
            annealing.note(isSame: true, age: 0)
            gaps.append(annealing.gapNanoseconds)
        }
        let milliseconds: [UInt64] = [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000, 10_000]
        #expect(gaps == milliseconds.map { $0 * millisecond })
    }

    @Test func anotherStackBringsTheFirstGapBack() {
        var annealing = Annealing()
        for _ in 0..<5 { annealing.note(isSame: true, age: 0) }
        annealing.note(isSame: false, age: 0)
        #expect(annealing == Annealing())
        annealing.note(isSame: true, age: 0)
        #expect(annealing.gapNanoseconds == 100 * millisecond)
    }

    /// What a hang costs: an hour takes some 360 looks.
    @Test func aHangIsSoonLeftAlone() {
        var annealing = Annealing()
        var (time, looks): (UInt64, Int) = (0, 0)
        while time < 3_600_000 * millisecond {
            time += annealing.gapNanoseconds
            annealing.note(isSame: true, age: 0)
            looks += 1
        }
        #expect((360...370).contains(looks))
    }

    /// One that is never the same: twenty looks a second, for hours, would be too many.
    @Test func aBusyHangIsLeftAloneToo() {
        var annealing = Annealing()
        annealing.note(isSame: false, age: 3200 * millisecond)
        #expect(annealing.gapNanoseconds == 50 * millisecond)
        annealing.note(isSame: false, age: 32_000 * millisecond)
        #expect(annealing.gapNanoseconds == 500 * millisecond)
        annealing.note(isSame: true, age: 32_000 * millisecond)
        #expect(annealing.gapNanoseconds == 1000 * millisecond)
        annealing.note(isSame: false, age: .max)
        #expect(annealing.gapNanoseconds == 1000 * millisecond)
    }

    @Test(arguments: [0, 1, 12_345_678_901, UInt64.max]) func theGapIsWithinAQuarterOfItself(random: UInt64) {
        #expect((37_500_000...62_500_000).contains(Annealing().gap(random)))
    }
}
