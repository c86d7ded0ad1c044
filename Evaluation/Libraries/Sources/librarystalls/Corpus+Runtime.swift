internal import CLibraryStalls

// The standard library and the runtime work for the program.

extension Corpus {
    static let runtime: [Scenario] = [
        Scenario(
            "own-hash",
            ["cpu"],
            ["PartNumber.hash"],
            caller: "countParts",
            "a dictionary whose keys hash slowly",
            countParts
        ),
        Scenario(
            "dynamic-cast",
            ["cpu"],
            ["closure in filterItems", "filterItems"],
            "casts to protocols, in a closure that may be inlined: the time is spent in the runtime",
            filterItems
        ),
        Scenario("mirror", ["cpu"], ["describeItems"], "reflection: the time is spent in the runtime", describeItems),
        Scenario("key-path", ["cpu"], ["sumByKeyPath"], "key paths: the time is spent in the library", sumByKeyPath),
        Scenario("regex-literal", ["cpu"], ["findVersions"], "the library's Regex", findVersions),
        Scenario("set-algebra", ["cpu"], ["compareTags"], "sets of strings", compareTags),
        Scenario("string-interpolation", ["cpu"], ["renderRows"], "strings are concatenated", renderRows),
        Scenario(
            "lazy-map-closure",
            ["cpu"],
            ["closure in sumReadings"],
            caller: "sumReadings",
            "a closure in lazy.map",
            sumReadings
        ),
    ]
}

struct PartNumber: Hashable {
    let digits: [Int]

    func hash(into hasher: inout Hasher) {
        var sum = 1
        for round in 0..<5_000 { sum = (sum &* 31) ^ digits[round % digits.count] }
        hasher.combine(sum)
    }
}

func countParts(until end: moment) -> Int {
    var total = 0
    while moment_now() < end {
        var counts: [PartNumber: Int] = [:]
        for part in 0..<50 { counts[PartNumber(digits: [part, part / 2, 3]), default: 0] += 1 }
        total += counts.count
    }
    return total
}

private nonisolated(unsafe) var items: [Any] = (0..<100).map { $0 % 3 == 0 ? "text \($0)" as Any : $0 }

func filterItems(until end: moment) -> Int {
    var found = 0
    while moment_now() < end { found += items.compactMap { $0 as? any BinaryInteger }.count }
    return found
}

func describeItems(until end: moment) -> Int {
    var children = 0
    while moment_now() < end {
        for item in items { children += Mirror(reflecting: (item, item)).children.count }
    }
    return children
}

struct Reading {
    var value = 1
    var weight = 2
}

private nonisolated(unsafe) var readingPaths: [KeyPath<Reading, Int>] = [\.value, \.weight, \.value.nonzeroBitCount]

func sumByKeyPath(until end: moment) -> Int {
    let reading = Reading()
    var sum = 0
    while moment_now() < end {
        for _ in 0..<200 {
            for path in readingPaths { sum &+= reading[keyPath: path] }
        }
    }
    return sum
}

func findVersions(until end: moment) -> Int {
    let text = String(repeating: "depends on library 12.4 or later; ", count: 20)
    var found = 0
    while moment_now() < end { found += text.matches(of: /([0-9]+)\.([0-9]+) (or|and) later/).count }
    return found
}

func compareTags(until end: moment) -> Int {
    let tags = Set((0..<200).map { "tag \($0)" })
    let others = Set((100..<300).map { "tag \($0)" })
    var common = 0
    while moment_now() < end { common += tags.intersection(others).count + tags.union(others).count }
    return common
}

func renderRows(until end: moment) -> Int {
    var bytes = 0
    while moment_now() < end {
        var page = ""
        for row in 0..<100 { page += "<tr><td>\(row)</td><td>\(Double(row) / 7)</td></tr>" }
        bytes += page.utf8.count
    }
    return bytes
}

func sumReadings(until end: moment) -> Int {
    let readings = Array(0..<50)
    var sum = 0
    while moment_now() < end {
        sum &+= readings.lazy.map { reading in
            var value = reading
            for round in 0..<2_000 { value = (value &* 13) ^ round }
            return value
        }.reduce(0, &+)
    }
    return sum
}
