/// Wall-clock time, nanoseconds since 1970, as text of RFC 3339: UTC, without the system's calendar and without a locale.
///
/// The calendar is the proleptic Gregorian one, by Howard Hinnant's `civil_from_days`
/// ("chrono-Compatible Low-Level Date Algorithms").
package enum UTCTime {
    package static let nanosecondsPerSecond: Int64 = 1_000_000_000
    package static let secondsPerDay: Int64 = 86_400
    /// From 0000-03-01 to 1970-01-01: counted from March, a leap day is the last day of its year.
    package static let daysTo1970: Int64 = 719_468
    /// 400 years.
    package static let daysPerEra: Int64 = 146_097

    /// Appends `2024-02-29T23:59:59.123456789Z`. The whole range of `nanoseconds` works (years 1677 to 2262).
    /// - Parameter fractionDigits: 0 to 9.
    package static func append(nanosecondsSince1970 nanoseconds: Int64, fractionDigits: Int = 9, to bytes: inout [UInt8]) {
        let (seconds, fraction) = floorDivide(nanoseconds, by: nanosecondsPerSecond)
        let (days, secondOfDay) = floorDivide(seconds, by: secondsPerDay)

        let (era, dayOfEra) = floorDivide(days + daysTo1970, by: daysPerEra)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)

        field(year, digits: 4, then: "-", to: &bytes)
        field(month, digits: 2, then: "-", to: &bytes)
        field(day, digits: 2, then: "T", to: &bytes)
        field(secondOfDay / 3600, digits: 2, then: ":", to: &bytes)
        field(secondOfDay / 60 % 60, digits: 2, then: ":", to: &bytes)
        guard fractionDigits > 0 else { return field(secondOfDay % 60, digits: 2, then: "Z", to: &bytes) }
        field(secondOfDay % 60, digits: 2, then: ".", to: &bytes)
        let unit = (fractionDigits..<9).reduce(Int64(1)) { unit, _ in unit * 10 }
        field(fraction / unit, digits: fractionDigits, then: "Z", to: &bytes)
    }

    /// `2024-02-29T23:59:59Z`, with the requested number of fractional digits.
    package static func text(_ nanoseconds: Int64, fractionDigits: Int = 0) -> String {
        var bytes: [UInt8] = []
        append(nanosecondsSince1970: nanoseconds, fractionDigits: fractionDigits, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func floorDivide(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func field(_ number: Int64, digits: Int, then end: Unicode.Scalar, to bytes: inout [UInt8]) {
        Decimal.append(UInt64(number), digits: digits, to: &bytes)
        bytes.append(UInt8(ascii: end))
    }
}
