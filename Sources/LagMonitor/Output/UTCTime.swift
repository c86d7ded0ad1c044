/// Wall-clock nanoseconds as text of RFC 3339: UTC, nine fractional digits, `Z`.
enum UTCTime {
    /// Appends `2024-02-29T23:59:59.123456789Z`. The whole range of `nanoseconds` works (years 1677 to 2262).
    ///
    /// The calendar is the proleptic Gregorian one; days to civil date by Howard Hinnant's `civil_from_days`
    /// ("chrono-Compatible Low-Level Date Algorithms").
    static func append(nanosecondsSince1970 nanoseconds: Int64, to bytes: inout [UInt8]) {
        let (seconds, fraction) = floorDivide(nanoseconds, by: 1_000_000_000)
        let (days, secondOfDay) = floorDivide(seconds, by: 86_400)

        // Days since 0000-03-01, so that a leap day is the last day of its year.
        let shifted = days + 719_468
        let (era, dayOfEra) = floorDivide(shifted, by: 146_097)
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
        field(secondOfDay % 60, digits: 2, then: ".", to: &bytes)
        field(fraction, digits: 9, then: "Z", to: &bytes)
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
