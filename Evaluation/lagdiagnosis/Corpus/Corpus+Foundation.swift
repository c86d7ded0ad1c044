internal import Foundation
internal import LagMonitor

// The main thread computes inside Foundation; the calling function is to blame.

extension Corpus {
    static let foundation: [Scenario] = [
        Scenario("foundation-regex", [.cpu], ["searchAddresses"], "NSRegularExpression") { searchAddresses(until: $0) },
        Scenario("foundation-json-parse", [.cpu], ["parseCatalog"], "JSONSerialization") { parseCatalog(until: $0) },
        Scenario("foundation-json-encode", [.cpu], ["encodeHistory"], "JSONEncoder, with library types only") {
            encodeHistory(until: $0)
        },
        Scenario(
            "foundation-json-decode",
            [.cpu],
            ["decodeOrders", "Order.init"],
            "JSONDecoder; most of the time is in Order.init(from:), which the compiler generated: this function or its caller"
        ) { decodeOrders(until: $0) },
        Scenario("foundation-format", [.cpu], ["formatPrices"], "NumberFormatter and String(format:)") {
            formatPrices(until: $0)
        },
        Scenario("foundation-dates", [.cpu], ["formatDates"], "a new DateFormatter each time") { formatDates(until: $0) },
        Scenario(
            "foundation-sort",
            [.cpu],
            ["sortByLocale", "closure #2 in sortByLocale"],
            "a sort whose predicate, a closure of the program, compares by locale: the closure or its enclosing function"
        ) { sortByLocale(until: $0) },
        Scenario("foundation-compare", [.cpu], ["matchNames"], "NSString comparisons in a loop") { matchNames(until: $0) },
    ]
}

@inline(never)
func searchAddresses(until end: MonotonicTime) -> Int {
    let text = String(repeating: "write to someone.else@example.org or call; ", count: 200)
    guard let expression = try? NSRegularExpression(pattern: "([a-z.]+)+@([a-z]+\\.)+org") else { return 0 }
    var found = 0
    while MonotonicTime.now < end {
        found += expression.numberOfMatches(in: text, range: NSRange(location: 0, length: text.utf16.count))
    }
    return found
}

@inline(never)
func parseCatalog(until end: MonotonicTime) -> Int {
    let item = #"{"name": "lamp", "price": 12.5, "tags": ["a", "b", "c"], "stock": {"berlin": 3, "rome": 4}}"#
    // Short enough that malloc keeps the memory: with a longer text, the kernel takes as much time for new pages as the parser.
    let data = Data("[\(Array(repeating: item, count: 40).joined(separator: ","))]".utf8)
    var count = 0
    while MonotonicTime.now < end {
        count += ((try? JSONSerialization.jsonObject(with: data)) as? [Any])?.count ?? 0
    }
    return count
}

@inline(never)
func encodeHistory(until end: MonotonicTime) -> Int {
    let history = Dictionary(uniqueKeysWithValues: (0..<300).map { ("day \($0)", [Double($0), 0.5, 1e9]) })
    var bytes = 0
    while MonotonicTime.now < end { bytes &+= (try? JSONEncoder().encode(history).count) ?? 0 }
    return bytes
}

struct Order: Codable {
    let number: Int
    let customer: String
    let prices: [Double]
}

@inline(never)
func decodeOrders(until end: MonotonicTime) -> Int {
    let order = #"{"number": 4711, "customer": "Ada", "prices": [1.5, 2.25, 3.125]}"#
    let data = Data("[\(Array(repeating: order, count: 500).joined(separator: ","))]".utf8)
    var count = 0
    while MonotonicTime.now < end { count += (try? JSONDecoder().decode([Order].self, from: data).count) ?? 0 }
    return count
}

@inline(never)
func formatPrices(until end: MonotonicTime) -> Int {
    let formatter = NumberFormatter()
    formatter.numberStyle = .currency
    formatter.locale = Locale(identifier: "de_DE")
    var bytes = 0
    var price = 0.5
    while MonotonicTime.now < end {
        bytes &+= formatter.string(from: NSNumber(value: price))?.utf8.count ?? 0
        bytes &+= String(format: "%012.4f %@", price, "EUR").utf8.count
        price += 1.25
    }
    return bytes
}

@inline(never)
func formatDates(until end: MonotonicTime) -> Int {
    var bytes = 0
    var seconds = 0.0
    while MonotonicTime.now < end {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "fr_FR")
        formatter.dateFormat = "EEEE d MMMM yyyy HH:mm:ss"
        bytes &+= formatter.string(from: Date(timeIntervalSince1970: seconds)).utf8.count
        seconds += 86_399
    }
    return bytes
}

@inline(never)
func sortByLocale(until end: MonotonicTime) -> Int {
    let names = (0..<300).map { "Ämter \(($0 &* 7_919) % 997)" }
    var total = 0
    while MonotonicTime.now < end {
        let sorted = names.sorted { $0.localizedCompare($1) == .orderedAscending }
        total &+= sorted[0].utf8.count
    }
    return total
}

@inline(never)
func matchNames(until end: MonotonicTime) -> Int {
    let names = (0..<100).map { NSString(string: "Straße Nummer \($0)") }
    var matches = 0
    while MonotonicTime.now < end {
        for name in names
        where name.compare("STRASSE NUMMER 50", options: [.caseInsensitive, .diacriticInsensitive]) == .orderedSame {
            matches += 1
        }
    }
    return matches
}
