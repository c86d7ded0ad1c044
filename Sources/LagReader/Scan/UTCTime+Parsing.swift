package import LagModel

/// Parses text of RFC 3339, with Howard Hinnant's `days_from_civil`.
extension UTCTime {
    /// Nanoseconds since 1970 of `2026-11-21T18:07:56.654466405Z`: any number of fractional digits, `Z` or an offset. Nil for
    /// anything else, and outside 1678…2261, the range of 64 bits.
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

    /// The offset at the end of a time, in seconds east of UTC; nil if it is invalid.
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
}
