internal import FoundationEssentials
internal import LagMonitor
internal import Synchronization

// Kinds that keep the processor busy: cpu, short, starve, format; and idle, which does not.

/// Searches for long Collatz sequences.
@inline(never)
func computeUntil(_ deadline: MonotonicTime) {
    var candidate: UInt64 = 1
    var longest = 0
    while MonotonicTime.now < deadline {
        for _ in 0..<200 {
            longest = max(longest, collatzLength(candidate))
            candidate += 1
        }
    }
    longestSequence.store(longest, ordering: .relaxed)
}

/// The same, for a few milliseconds: far below the threshold.
@inline(never)
func computeBriefly(_ deadline: MonotonicTime) { searchFinely(until: deadline) }

/// The same, for one of many callbacks in a row.
@inline(never)
func computeInTurn(_ deadline: MonotonicTime) { searchFinely(until: deadline) }

/// Nothing at all.
@inline(never)
func stayIdle() {
    longestSequence.store(0, ordering: .relaxed)
}

/// Reads the clock more often than ``computeUntil(_:)``. Inlined, so that the stack shows the caller's name.
@inline(__always)
private func searchFinely(until deadline: MonotonicTime) {
    var candidate: UInt64 = 1
    var longest = 0
    while MonotonicTime.now < deadline {
        for _ in 0..<50 {
            longest = max(longest, collatzLength(candidate))
            candidate += 1
        }
    }
    longestSequence.store(longest, ordering: .relaxed)
}

private func collatzLength(_ start: UInt64) -> Int {
    var value = start
    var length = 1
    while value > 1 {
        value = value % 2 == 0 ? value / 2 : 3 &* value &+ 1
        length += 1
    }
    return length
}

/// Stores a result so that the compiler cannot remove the work.
private let longestSequence = Atomic(0)

/// Repeatedly renders a report about this process's memory map, with every number and date formatted.
@inline(never)
func renderReportUntil(_ deadline: MonotonicTime) {
    repeat {
        var report = ""
        let map = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? "0-1000 r--p no map"
        for line in map.split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let bounds = (fields.first ?? "").split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard bounds.count == 2 else { continue }
            let date = Date(timeIntervalSince1970: Double(bounds[0] % 4_000_000_000)).formatted(.iso8601)
            report += "\(String(bounds[0], radix: 16)) \(bounds[1] &- bounds[0]) \(date) \(fields.last ?? "")\n"
            if MonotonicTime.now >= deadline { break }
        }
        withExtendedLifetime(report) {}
    } while MonotonicTime.now < deadline
}
