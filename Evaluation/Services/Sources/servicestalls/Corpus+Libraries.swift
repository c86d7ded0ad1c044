internal import Foundation

// Libraries that compute for the program: the program's function that calls them is to blame, or the function that they call
// back.

extension Corpus {
    static let libraries: [Scenario] = [
        Scenario("date-formatter", "a DateFormatter for every date", ["cpu"], ["Report.format"]) {
            Report.format((0..<50).map { Date(timeIntervalSince1970: Double($0) * 86_400) }, for: 520).count
        },
        Scenario("calendar", "days of a calendar", ["cpu"], ["Report.countWeekdays"]) { Report.countWeekdays(for: 450) },
        Scenario("regex-backtrack", "a regular expression that backtracks", ["cpu"], ["Validator.isValid"]) {
            try Validator().isValid(String(repeating: "a", count: 17), for: 450) ? 1 : 0
        },
        Scenario("graphemes", "characters of a text", ["cpu"], ["TextFigures.countCharacters"]) {
            TextFigures.countCharacters(sampleText, for: 390)
        },
        Scenario("folding", "words without case and accents", ["cpu"], ["TextFigures.fold"]) {
            TextFigures.fold(sampleText.components(separatedBy: " "), for: 640)
        },
        Scenario("components", "an attributed string's words", ["cpu"], ["TextFigures.countWords"]) {
            TextFigures.countWords(sampleText, for: 470)
        },
        Scenario("base64", "base64 and back", ["cpu"], ["Encodings.convert"]) {
            Encodings.convert(Data(sampleText.utf8), for: 410)
        },
        Scenario("decimal", "Foundation's decimal numbers", ["cpu"], ["Encodings.addInterest"]) {
            Encodings.addInterest(for: 430)
        },
        Scenario("predicate", "a #Predicate", ["cpu"], ["Filters.match"]) { try Filters.match(Array(0..<500), for: 450) },
        Scenario(
            "notification",
            "an observer of NotificationCenter",
            ["cpu"],
            ["SearchIndex.rebuild"],
            callers: ["SearchIndex.announce"]
        ) {
            let saved = Notification.Name("saved")
            let observer = NotificationCenter.default.addObserver(forName: saved, object: nil, queue: nil) { _ in
                SearchIndex.rebuild()
            }
            SearchIndex.announce(saved)
            NotificationCenter.default.removeObserver(observer)
            return 1
        },
        Scenario("qsort", "qsort, which calls back", ["cpu"], ["Ranking.compare", "Ranking.sort"]) {
            Ranking.sort(3_000, for: 450)
        },
    ]
}

private enum Report {
    @inline(never) static func format(_ dates: [Date], for milliseconds: Int) -> [String] {
        let deadline = Deadline(milliseconds)
        var lines: [String] = []
        while !deadline.isOver {
            for date in dates {
                let formatter = DateFormatter()
                formatter.dateFormat = "yyyy-MM-dd HH:mm:ss ZZZZ"
                lines.append(formatter.string(from: date))
            }
        }
        return lines
    }

    @inline(never) static func countWeekdays(for milliseconds: Int) -> Int {
        let (deadline, calendar) = (Deadline(milliseconds), Calendar(identifier: .gregorian))
        var (weekdays, day) = (0, Date())
        while !deadline.isOver {
            day = calendar.date(byAdding: .day, value: 1, to: day) ?? day
            weekdays += calendar.component(.weekday, from: day)
        }
        return weekdays
    }
}

private struct Validator {
    private let pattern: Regex<AnyRegexOutput>

    init() throws { pattern = try Regex("^(([a-z0-9])+.)+@example.org$") }

    @inline(never) func isValid(_ text: String, for milliseconds: Int) -> Bool {
        let deadline = Deadline(milliseconds)
        var isValid = false
        while !deadline.isOver { isValid = text.wholeMatch(of: pattern) != nil }
        return isValid
    }
}

private enum TextFigures {
    @inline(never) static func countCharacters(_ text: String, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var bytes = 0
        while !deadline.isOver { for character in text where character != "x" { bytes += character.utf8.count } }
        return bytes
    }

    @inline(never) static func fold(_ words: [String], for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var characters = 0
        while !deadline.isOver {
            for word in words { characters += word.lowercased().folding(options: .diacriticInsensitive, locale: nil).count }
        }
        return characters
    }

    @inline(never) static func countWords(_ text: String, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var words = 0
        while !deadline.isOver {
            words += NSMutableAttributedString(string: text).string.components(separatedBy: .whitespaces).count
        }
        return words
    }
}

private enum Filters {
    @inline(never) static func match(_ numbers: [Int], for milliseconds: Int) throws -> Int {
        let predicate = #Predicate<Int> { $0 % 7 == 3 && $0 > 10 }
        let deadline = Deadline(milliseconds)
        var matches = 0
        while !deadline.isOver { matches += try numbers.filter(predicate).count }
        return matches
    }
}

private enum SearchIndex {
    @inline(never) static func announce(_ name: Notification.Name) { NotificationCenter.default.post(name: name, object: nil) }

    @inline(never) static func rebuild() {
        let deadline = Deadline(400)
        var characters = 0
        while !deadline.isOver { characters += UUID().uuidString.count }
        keep(characters)
    }
}

private enum Ranking {
    @inline(never) static func sort(_ count: Int, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var numbers = (0..<count).map { _ in Int32.random(in: 0..<1_000) }
        while !deadline.isOver {
            numbers.shuffle()
            qsort(&numbers, numbers.count, MemoryLayout<Int32>.stride) { one, other in
                guard let one, let other else { return 0 }
                return Ranking.compare(one.load(as: Int32.self), other.load(as: Int32.self))
            }
        }
        return Int(numbers[0])
    }

    @inline(never) static func compare(_ one: Int32, _ other: Int32) -> Int32 {
        var weight: Int32 = 0
        for step in 0..<50 { weight = weight &+ (one ^ Int32(step)) &* other }
        return one < other ? -1 : (one > other ? 1 : weight & 0)
    }
}

private enum Encodings {
    @inline(never) static func convert(_ data: Data, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var bytes = 0
        while !deadline.isOver { bytes += Data(base64Encoded: data.base64EncodedString())?.count ?? 0 }
        return bytes
    }

    @inline(never) static func addInterest(for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        var (sum, years) = (Decimal(1), 0)
        while !deadline.isOver {
            sum = sum * Decimal(1.0001) + 3
            if sum > 1_000 { sum = 1 }
            years += 1
        }
        return years
    }
}
