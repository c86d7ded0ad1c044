import Foundation
import LagOutput
import TestSupport
import Testing

struct StallIDTests {
    @Test func `the example of RFC 9562 is reproduced`() {
        // RFC 9562, appendix A.6: 017F22E2-79B0-7CC3-98C4-DC0C0C07398F at 2022-02-22 14:22:22 -05:00.
        let id = StallID(
            startRealtimeNanoseconds: 1_645_557_742_000_000_000,
            randomHigh: 0xcc3,
            randomLow: 0x18c4_dc0c_0c07_398f
        )
        #expect(id.description == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        #expect(id.milliseconds == 1_645_557_742_000)
        #expect(UUID(uuidString: id.description) != nil)
    }

    @Test func `version and variant are set for any random bits`() {
        for (high, low) in [(UInt64.min, UInt64.min), (.max, .max)] {
            let text = Array(StallID(startRealtimeNanoseconds: Sample.start, randomHigh: high, randomLow: low).description)
            #expect(text[14] == "7")
            #expect("89ab".contains(text[19]))
        }
    }

    @Test func `later stalls have greater IDs as text and as value`() {
        let early = StallID(startRealtimeNanoseconds: 1_000_000, randomHigh: .max, randomLow: .max)
        let late = StallID(startRealtimeNanoseconds: 2_000_000, randomHigh: 0, randomLow: 0)
        #expect(early < late)
        #expect(early.description < late.description)
    }

    @Test func `an ID is parsed from its text`() {
        var generator = SeededGenerator(seed: 1)
        let id = StallID(startRealtimeNanoseconds: Sample.start, using: &generator)
        #expect(StallID(id.description) == id)
        #expect(StallID(id.description.uppercased()) == id)
        #expect(id != StallID(startRealtimeNanoseconds: Sample.start, using: &generator))
    }

    @Test(arguments: [
        "", "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
        "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-18c4-dc0c0c07398f",
        "017f22e279b0-7cc3-98c4-dc0c0c07398f-", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
    ])
    func `other texts are refused as IDs`(text: String) { #expect(StallID(text) == nil) }

    @Test func `a time before 1970 counts as 1970`() {
        #expect(StallID(startRealtimeNanoseconds: -1, randomHigh: 0, randomLow: 0).milliseconds == 0)
    }
}
