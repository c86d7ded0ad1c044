import LagOutput
import Testing

@testable import LagModel

struct DurationTextTests {
    @Test(arguments: [
        (0, "0 ms"), (499, "0 ms"), (352_100, "0.352 ms"), (1_234_000, "1.23 ms"), (12_350_000, "12.4 ms"),
        (350_925_000, "351 ms"),
        (400_000_000, "400 ms"), (999_499_999, "999 ms"), (999_500_000, "1 s"), (1_004_999_999, "1 s"), (1_600_000_000, "1.6 s"),
        (12_345_000_000, "12.3 s"), (59_949_999_999, "59.9 s"), (59_950_000_000, "1 min"), (106_794_000_000, "1 min 47 s"),
        (3_599_499_999_999, "59 min 59 s"), (3_599_500_000_000, "1 h"), (11_545_000_000_000, "3 h 12 min"),
        (86_369_999_999_999, "23 h 59 min"), (86_370_000_000_000, "1 d"), (187_200_000_000_000, "2 d 4 h"),
        (UInt64.max, "213504 d"),
    ])
    func `a duration is written with three digits or two units`(nanoseconds: UInt64, expected: String) {
        #expect(DurationText.text(nanoseconds: nanoseconds) == expected)
    }

    @Test func `a written duration is within one percent of the value`() {
        let units: [String: Double] = ["ms": 1e6, "s": 1e9, "min": 6e10]
        var nanoseconds: UInt64 = 1_000_000
        while nanoseconds < 60_000_000_000 {
            let parts = DurationText.text(nanoseconds: nanoseconds).split(separator: " ")
            let read = (Double(String(parts[0])) ?? 0) * (units[String(parts[1])] ?? 0)
            #expect(abs(read - Double(nanoseconds)) <= Double(nanoseconds) / 199, "\(nanoseconds) \(parts)")
            nanoseconds += nanoseconds / 97
        }
    }

    @Test func `a negative duration is written as zero`() {
        #expect(DurationText.text(Duration.seconds(-1)) == "0 ms")
        #expect(DurationText.text(Duration.seconds(30)) == "30 s")
        #expect(DurationText.text(Duration.milliseconds(1500)) == "1.5 s")
    }
}
