internal import Testing

@testable internal import lagmond

struct ProgressLineTests {
    @Test(arguments: [
        (UInt64(0), UInt64(3_000_000), "0 % of 3 MB"), (1_500_000, 3_000_000, "50 % of 3 MB"), (9, 1, "100 % of 0 MB"),
        (2_000_000, 0, "2 MB"), (.max, .max, "100 % of 18446744073709 MB"), (.max, 1, "100 % of 0 MB"),
    ])
    func `progress is shown as a percentage for any number of bytes`(done: UInt64, total: UInt64, text: String) {
        #expect(ProgressLine.text(done: done, of: total) == "reading: \(text)")
    }
}
