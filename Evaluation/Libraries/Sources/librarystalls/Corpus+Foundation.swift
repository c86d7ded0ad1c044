internal import CLibraryStalls
internal import Foundation
internal import FoundationXML

// Foundation works on the program's behalf.

extension Corpus {
    static let foundation: [Scenario] = [
        Scenario(
            "foundation-decode",
            ["cpu"],
            ["loadPlaylist", "Track.init"],
            "JSONDecoder; the compiler generated Track.init(from:)",
            loadPlaylist
        ),
        Scenario("foundation-json-object", ["cpu"], ["parseSettings"], "JSONSerialization", parseSettings),
        Scenario("foundation-property-list", ["cpu"], ["saveWindowState"], "PropertyListEncoder", saveWindowState),
        Scenario("foundation-expression", ["cpu"], ["findMentions"], "NSRegularExpression", findMentions),
        Scenario("foundation-base64", ["cpu"], ["encodeAttachment"], "Data to base64 and back", encodeAttachment),
        Scenario("foundation-dates", ["cpu"], ["printTimeline"], "dates by a format style and ISO 8601", printTimeline),
        Scenario("foundation-calendar", ["cpu"], ["listWorkdays"], "Calendar adds and decomposes days", listWorkdays),
        Scenario("foundation-strings", ["cpu"], ["slugifyTitles"], "folding, trimming, replacing", slugifyTitles),
        Scenario(
            "foundation-sort-closure",
            ["cpu"],
            ["closure #2 in sortContacts"],
            caller: "sortContacts",
            "a sort whose predicate compares by locale",
            sortContacts
        ),
        Scenario(
            "foundation-xml-delegate",
            ["cpu"],
            ["FeedReader.parser"],
            caller: "readFeed",
            "XMLParser calls its delegate",
            readFeed
        ),
        Scenario(
            "foundation-notification",
            ["cpu"],
            ["closure in observeChanges"],
            caller: "publishChange",
            "an observer of a notification computes",
            preparing: {
                observeChanges()
                return publishChange
            }
        ),
    ]
}

struct Track: Codable {
    let title: String
    let seconds: Double
    let tags: [String]
}

func loadPlaylist(until end: moment) -> Int {
    let track = #"{"title": "song", "seconds": 215.5, "tags": ["loud", "long"]}"#
    let data = Data("[\(Array(repeating: track, count: 300).joined(separator: ","))]".utf8)
    var count = 0
    while moment_now() < end { count += (try? JSONDecoder().decode([Track].self, from: data).count) ?? 0 }
    return count
}

func parseSettings(until end: moment) -> Int {
    let data = Data(#"{"theme": "dark", "sizes": [1, 2.5, 3], "nested": {"a": true, "b": null}}"#.utf8)
    var count = 0
    while moment_now() < end { count += ((try? JSONSerialization.jsonObject(with: data)) as? [String: Any])?.count ?? 0 }
    return count
}

func saveWindowState(until end: moment) -> Int {
    let state = Dictionary(uniqueKeysWithValues: (0..<100).map { ("window \($0)", [Double($0), 0.5]) })
    var bytes = 0
    while moment_now() < end { bytes += (try? PropertyListEncoder().encode(state).count) ?? 0 }
    return bytes
}

func findMentions(until end: moment) -> Int {
    let text = String(repeating: "ask @someone.else or mail them; ", count: 100)
    guard let expression = try? NSRegularExpression(pattern: "@([a-z]+\\.?)+ (or|and) m") else { return 0 }
    var found = 0
    while moment_now() < end {
        found += expression.numberOfMatches(in: text, range: NSRange(location: 0, length: text.utf16.count))
    }
    return found
}

func encodeAttachment(until end: moment) -> Int {
    let attachment = Data(repeating: 0x5a, count: 50_000)
    var bytes = 0
    while moment_now() < end { bytes += Data(base64Encoded: attachment.base64EncodedString())?.count ?? 0 }
    return bytes
}

func printTimeline(until end: moment) -> Int {
    var bytes = 0
    var date = Date(timeIntervalSince1970: 0)
    while moment_now() < end {
        bytes += date.formatted(.iso8601).utf8.count + ISO8601DateFormatter().string(from: date).utf8.count
        date += 86_399
    }
    return bytes
}

func listWorkdays(until end: moment) -> Int {
    let calendar = Calendar(identifier: .gregorian)
    var day = Date(timeIntervalSince1970: 0)
    var workdays = 0
    while moment_now() < end {
        day = calendar.date(byAdding: .day, value: 1, to: day) ?? .now
        if !calendar.isDateInWeekend(day) { workdays += calendar.component(.weekOfYear, from: day) }
    }
    return workdays
}

func slugifyTitles(until end: moment) -> Int {
    var bytes = 0
    while moment_now() < end {
        let title = "  Élan vital – Über die Größe der Wörter  ".trimmingCharacters(in: .whitespaces)
        let folded = title.folding(options: [.diacriticInsensitive, .caseInsensitive], locale: nil)
        bytes += folded.replacingOccurrences(of: " ", with: "-").components(separatedBy: "-").count
    }
    return bytes
}

func sortContacts(until end: moment) -> Int {
    let names = (0..<200).map { "Ämter \(($0 &* 7_919) % 997)" }
    var total = 0
    while moment_now() < end {
        total += names.sorted { $0.localizedCompare($1) == .orderedAscending }[0].utf8.count
    }
    return total
}

final class FeedReader: NSObject, XMLParserDelegate {
    var sum = 1

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        for round in 0..<200_000 { sum = (sum &* 31) ^ round }
    }
}

func readFeed(until end: moment) -> Int {
    let reader = FeedReader()
    let feed = Data("<feed>\(String(repeating: "<entry/>", count: 100))</feed>".utf8)
    while moment_now() < end {
        let parser = XMLParser(data: feed)
        parser.delegate = reader
        _ = parser.parse()
    }
    return reader.sum
}

private let changed = Notification.Name("changed")

func observeChanges() {
    _ = NotificationCenter.default.addObserver(forName: changed, object: nil, queue: nil) { notification in
        guard let end = notification.userInfo?["end"] as? moment else { return }
        var sum = 1
        while moment_now() < end {
            for round in 0..<2_000 { sum = (sum &* 37) ^ round }
        }
        if sum == 0 { print(sum) }
    }
}

func publishChange(until end: moment) -> Int {
    NotificationCenter.default.post(name: changed, object: nil, userInfo: ["end": end])
    return 1
}
