/// Wall-clock time, nanoseconds since 1970, as text of RFC 3339 and back: UTC, without the system's calendar and without a locale.
///
/// The calendar is the proleptic Gregorian one, by Howard Hinnant's `civil_from_days` and `days_from_civil`
/// ("chrono-Compatible Low-Level Date Algorithms").
package enum UTCTime {
    private static let nanosecondsPerSecond: Int64 = 1_000_000_000
    private static let secondsPerDay: Int64 = 86_400
    /// From 0000-03-01 to 1970-01-01: counted from March, a leap day is the last day of its year.
    private static let daysTo1970: Int64 = 719_468
    /// 400 years.
    private static let daysPerEra: Int64 = 146_097

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

    /// `2024-02-29T23:59:59Z`, with as many fractional digits as asked for.
    package static func text(_ nanoseconds: Int64, fractionDigits: Int = 0) -> String {
        var bytes: [UInt8] = []
        append(nanosecondsSince1970: nanoseconds, fractionDigits: fractionDigits, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nanoseconds since 1970 of `2026-11-21T18:07:56.654466405Z`: any number of fractional digits, `Z` or an offset. Nil for
    /// anything else, and outside 1678…2261, which 64 bits do not reach.
    package static func nanoseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count >= 20, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] | 0x20 == UInt8(ascii: "t") || text[10] == UInt8(ascii: " "), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"), let year = digits(text, 0, 4), let month = digits(text, 5, 2),
            let day = digits(text, 8, 2), let hour = digits(text, 11, 2), let minute = digits(text, 14, 2),
            let second = digits(text, 17, 2), (1678...2261).contains(year), (1...12).contains(month),
            day >= 1, day <= daysIn(month: month, year: year), hour < 24, minute < 60, second <= 60
        else { return nil }
        var index = 19
        var fraction: Int64 = 0
        if text[index] == UInt8(ascii: ".") {
            index += 1
            var unit = nanosecondsPerSecond
            let first = index
            while index < text.count, text[index] &- UInt8(ascii: "0") < 10 {
                unit /= 10
                fraction += Int64(text[index] - UInt8(ascii: "0")) * unit
                index += 1
            }
            guard index > first else { return nil }
        }
        guard let offset = offset(text, at: index) else { return nil }
        let seconds =
            days(year: year, month: month, day: day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset
        return seconds * nanosecondsPerSecond + fraction
    }

    package static func nanoseconds(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { nanoseconds($0) }
    }

    /// Seconds east of UTC of what ends a time; nil when it is no end.
    private static func offset(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int64? {
        guard index < text.count else { return nil }
        let sign = text[index]
        if sign | 0x20 == UInt8(ascii: "z") { return index + 1 == text.count ? 0 : nil }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), index + 6 == text.count,
            text[index + 3] == UInt8(ascii: ":"), let hours = digits(text, index + 1, 2), hours < 24,
            let minutes = digits(text, index + 4, 2), minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func digits(_ text: UnsafeBufferPointer<UInt8>, _ start: Int, _ count: Int) -> Int64? {
        var number: Int64 = 0
        for index in start..<start + count {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int64(digit)
        }
        return number
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31
    }

    /// Days since 1970 of a date after the year 0.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * daysPerEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - daysTo1970
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
