import Testing

@testable import LagDetection

@Suite struct StealMeterTests {
    private func nanoseconds(_ text: String) -> UInt64? {
        var text = text
        return text.withUTF8 { StealMeter.nanoseconds(in: UnsafeRawBufferPointer($0)) }
    }

    @Test func `stolen time is the eighth number, in hundredths of a second`() {
        #expect(nanoseconds("cpu  224510 2296 28242 101588 779 0 541 8763 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n") == 87_630_000_000)
        #expect(nanoseconds("cpu 1 2 3 4 5 6 7 0 0 0\n") == 0)
    }

    @Test(arguments: [
        "", "cpu", "cpu ", "cpu  1 2 3", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 ", "cpu  1 2 3\ncpu0 1 2 3 4 5 6 7 8", "x",
    ])
    func `a text in another form gives no stolen time`(text: String) {
        #expect(nanoseconds(text) == nil)
    }

    @Test func `the file of this machine can be read`() {
        let meter = StealMeter()
        let first = meter.read()
        #expect(meter.read() >= first)
    }
}
