/// RFC 3339 times, without a calendar of the system's and without a locale.
package enum TimeText {
    private static let nanosecondsPerSecond: Int64 = 1_000_000_000

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
        let seconds = days(year: year, month: month, day: day) * 86400 + hour * 3600 + minute * 60 + second - offset
        return seconds * nanosecondsPerSecond + fraction
    }

    package static func nanoseconds(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { nanoseconds($0) }
    }

    /// `2026-11-21T18:07:56Z`, with three fractional digits when asked for.
    package static func text(_ nanoseconds: Int64, withMilliseconds: Bool = false) -> String {
        let seconds = floorDivided(nanoseconds, nanosecondsPerSecond)
        let (days, second) = (floorDivided(seconds, 86400), seconds - floorDivided(seconds, 86400) * 86400)
        let date = civil(days)
        let fraction = withMilliseconds ? "." + padded((nanoseconds - seconds * nanosecondsPerSecond) / 1_000_000, 3) : ""
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
            + "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))\(fraction)Z"
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

    /// Days since 1970 of a date; the year begins in March here, so that the leap day is its last (Hinnant's `days_from_civil`).
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468
    }

    /// The other way (Hinnant's `civil_from_days`).
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719468
        let era = floorDivided(shifted, 146097)
        let dayOfEra = shifted - era * 146097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func floorDivided(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }

    private static func padded(_ number: Int64, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
