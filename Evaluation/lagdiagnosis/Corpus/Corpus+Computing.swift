internal import Glibc
internal import LagMonitor

// The main thread computes in its own code, or its own code calls the standard library or libc, which computes. Each culprit
// reads the clock only rarely, which takes almost no time. It is not inlined into the closure that calls it: here it has only one
// caller, but in a real program it would have many.

extension Corpus {
    static let computing: [Scenario] = [
        Scenario("own-code", [.cpu], ["countPrimes"], "searches for primes") { countPrimes(until: $0) },
        Scenario("standard-sort", [.cpu], ["sortReadings"], "Array.sort: the time is spent in the library") {
            sortReadings(until: $0)
        },
        Scenario("standard-dictionary", [.cpu], ["indexWords"], "Dictionary grows and hashes") { indexWords(until: $0) },
        Scenario("standard-string", [.cpu], ["normalizeTitles"], "String: case, splitting, comparing") {
            normalizeTitles(until: $0)
        },
        Scenario("standard-regex", [.cpu], ["findDatesInLog"], "the standard library's Regex") { findDatesInLog(until: $0) },
        Scenario(
            "memcpy",
            [.cpu],
            ["copyFrames"],
            "resident memory is copied: the leaf function is in libc",
            making: {
                let (source, target) = (WorkMemory.touched(), WorkMemory.touched())
                return { copyFrames(from: source, to: target, until: $0) }
            }
        ),
        Scenario(
            "memset",
            [.cpu],
            ["clearCanvas"],
            "resident memory is cleared: the leaf function is in libc",
            making: {
                let target = WorkMemory.touched()
                return { clearCanvas(target, until: $0) }
            }
        ),
        Scenario("malloc", [.cpu], ["buildSmallNodes"], "many small allocations: the leaf function is in libc") {
            buildSmallNodes(until: $0)
        },
    ]
}

@inline(never)
func countPrimes(until end: MonotonicTime) -> Int {
    var count = 0
    var candidate = 2
    while MonotonicTime.now < end {
        for _ in 0..<50 {
            var divisor = 2
            while divisor * divisor <= candidate, candidate % divisor != 0 { divisor += 1 }
            if divisor * divisor > candidate { count += 1 }
            candidate += 1
        }
    }
    return count
}

@inline(never)
func sortReadings(until end: MonotonicTime) -> Int {
    let readings = (0..<20_000).map { "sensor \(($0 &* 7_919) % 20_011)" }
    var last = 0
    while MonotonicTime.now < end {
        var sorted = readings
        sorted.sort()
        last &+= sorted[sorted.count / 2].utf8.count
    }
    return last
}

@inline(never)
func indexWords(until end: MonotonicTime) -> Int {
    let words = (0..<4_000).map { "word \($0)" }
    var total = 0
    while MonotonicTime.now < end {
        var index: [String: Int] = [:]
        for word in words { index[word] = word.utf8.count }
        total &+= index.count
    }
    return total
}

@inline(never)
func normalizeTitles(until end: MonotonicTime) -> Int {
    let title = String(repeating: "Élan vital – Über die Größe der Wörter; ", count: 40)
    var total = 0
    while MonotonicTime.now < end {
        let words = title.uppercased().split(separator: " ")
        if words.joined(separator: "-").lowercased() == title { total += 1 }
        total &+= words.count
    }
    return total
}

@inline(never)
func findDatesInLog(until end: MonotonicTime) -> Int {
    let line = String(repeating: "server 17 answered in 12 ms; ", count: 20) + "2024-02-29 the end"
    let date = /([0-9]{4})-([0-9]{2})-([0-9]{2})/
    var found = 0
    while MonotonicTime.now < end { found += line.matches(of: date).count }
    return found
}

@inline(never)
func copyFrames(from source: WorkMemory, to target: WorkMemory, until end: MonotonicTime) -> Int {
    var copies = 0
    while MonotonicTime.now < end {
        memcpy(target.start, source.start, WorkMemory.bytes)
        copies += 1
    }
    return copies
}

@inline(never)
func clearCanvas(_ canvas: WorkMemory, until end: MonotonicTime) -> Int {
    var colour: Int32 = 0
    while MonotonicTime.now < end {
        memset(canvas.start, colour & 0xff, WorkMemory.bytes)
        colour += 1
    }
    return Int(colour)
}

@inline(never)
func buildSmallNodes(until end: MonotonicTime) -> Int {
    var nodes = [UnsafeMutableRawPointer?](repeating: nil, count: 5_000)
    var made = 0
    while MonotonicTime.now < end {
        for index in nodes.indices { nodes[index] = malloc(16 + (index * 37) % 900) }
        for index in nodes.indices.reversed() { free(nodes[index]) }
        made += nodes.count
    }
    return made
}
