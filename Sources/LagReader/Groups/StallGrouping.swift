internal import LagModel

/// Groups the stalls of lines, each stall once. One thread; instances of several threads share a deduplicator, and are merged at
/// the end.
package struct StallGrouping: ~Copyable, LineConsumer {
    /// The result. It does not depend on the order of reading.
    package struct Aggregate: Sendable {
        package var table = GroupTable()
        package var tally = LineTally()

        package init() {}

        package mutating func add(_ other: Aggregate) {
            table.add(other.table)
            tally.add(other.tally)
        }
    }

    /// Further information about the line in the scanner.
    package enum Observation: Sendable {
        /// A stall that counts, in the group at this index of the table; -1: in the rest.
        case stall(group: Int, time: Int64, nanoseconds: UInt64, isOpen: Bool)
        /// A line that reports on other lines, each time that it appears.
        case notice
    }

    private let key: GroupKey
    private let observe: ((borrowing LineScanner, Observation) -> Void)?
    /// The selected range of the stalls' start times, in nanoseconds since 1970.
    private let times: Range<Int64>
    private let filter: StallFilter
    private let deduplicator: StallDeduplicator
    private var scanner = LineScanner()
    private var aggregate = Aggregate()

    /// - Parameters:
    ///   - filter: selects the stalls that count.
    ///   - observe: called for each stall that counts, for callers that need more than its group.
    package init(
        by key: GroupKey,
        times: Range<Int64> = .min ..< .max,
        filter: StallFilter = StallFilter(),
        deduplicator: StallDeduplicator,
        observe: ((borrowing LineScanner, Observation) -> Void)? = nil
    ) {
        self.key = key
        self.observe = observe
        self.times = times
        self.filter = filter
        self.deduplicator = deduplicator
    }

    package mutating func take(_ line: UnsafeRawBufferPointer) {
        aggregate.tally.lines += 1
        guard scanner.scan(line) == nil else {
            aggregate.tally.damaged += 1
            return
        }
        let kind = scanner.kind()
        switch kind {
        case .begin, .end, .abandoned:
            guard scanner.isCounted(kind, by: deduplicator) else {
                aggregate.tally.repeated += 1
                return
            }
            // After the deduplicator, which must see all lines of a stall, because their times may differ.
            guard let time = scanner.time(.time), isWanted(at: time) else {
                aggregate.tally.outside += 1
                return
            }
            count(time: time, isOpen: kind == .begin)
        case .suppressed:
            guard scanner.isCounted(kind, by: deduplicator) else {
                aggregate.tally.repeated += 1
                return
            }
            guard let time = scanner.time(.lastTime), isWanted(at: time) else { return }
            countHeldBack(time: time)
        case .notice: observe?(scanner, .notice)
        case .foreign: aggregate.tally.addForeign(scanner)
        case .incomplete: aggregate.tally.incomplete += 1
        }
    }

    package mutating func takeOverlong() {
        aggregate.tally.lines += 1
        aggregate.tally.damaged += 1
    }

    /// The result so far, including stalls in progress.
    package borrowing func snapshot() -> Aggregate {
        var other = StallGrouping(by: key, times: times, filter: filter, deduplicator: deduplicator)
        other.takeOpenLines()
        var snapshot = aggregate
        snapshot.table.add(other.aggregate.table)
        return snapshot
    }

    /// Counts the stalls without an end line. Call it once, when everything is read.
    package mutating func takeOpenLines() {
        for line in deduplicator.openLines() {
            line.withUnsafeBytes { bytes in
                guard scanner.scan(bytes) == nil, let time = scanner.time(.time), isWanted(at: time) else {
                    aggregate.tally.outside += 1
                    return
                }
                count(time: time, isOpen: true)
            }
        }
    }

    package consuming func finish() -> Aggregate { aggregate }

    private borrowing func isWanted(at time: Int64) -> Bool { times.contains(time) && filter.includes(scanner) }

    private mutating func count(time: Int64, isOpen: Bool) {
        let nanoseconds = scanner.nanoseconds(.duration) ?? 0
        let cause = StallGroup.causeIndex(scanner)
        let host = scanner.withText(.hostName) { ByteHash.fixed($0) } ?? 0
        var index = -1
        Self.withKey(key, scanner) { key in
            index = aggregate.table.update(key) { group in
                group.add(scanner, time: time, nanoseconds: nanoseconds, causeIndex: cause, hostHash: host)
                if isOpen { group.openCount += 1 }
            }
        }
        observe?(scanner, .stall(group: index, time: time, nanoseconds: nanoseconds, isOpen: isOpen))
    }

    private mutating func countHeldBack(time: Int64) {
        guard let count = scanner.count(.suppressed), let total = scanner.nanoseconds(.total) else { return }
        // Lines about many fingerprints have no fingerprint.
        Self.withKey(key, scanner) { key in
            aggregate.table.update(key) { $0.addHeldBack(count: count, nanoseconds: total, lastTime: time) }
        }
    }

    /// A missing field gives the empty key.
    private static func withKey(
        _ key: GroupKey,
        _ scanner: borrowing LineScanner,
        _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        if case .label(let name) = key {
            if scanner.withLabel(name, body) != nil { return }
        } else if key == .request {
            if scanner.withRequestName(body) != nil { return }
        } else if scanner.withText(key.field, body) != nil {
            return
        }
        // A stall without related stalls is its own incident.
        if key == .incident, scanner.withText(.id, body) != nil { return }
        body(UnsafeBufferPointer(start: nil, count: 0))
    }
}
