internal import LagModel

/// Streams the stalls of several inputs, each once, for a report or an export. Memory: a deduplicator and a line.
///
/// For a stall with `begin` and `end`, it delivers the end; stalls without an end follow last.
package struct StallStream: ~Copyable {
    /// For everything that was read so far.
    package private(set) var tally = LineTally()
    package private(set) var inputErrors: [InputError] = []
    private let times: Range<Int64>
    private let filter: StallFilter
    private let deduplicator = StallDeduplicator()
    private var scanner = LineScanner()

    /// - Parameter times: the range of start times, in nanoseconds since 1970.
    package init(times: Range<Int64> = .min ..< .max, filter: StallFilter = StallFilter()) {
        self.times = times
        self.filter = filter
    }

    /// Passes on the stalls of an input, until `take` returns false.
    /// - Parameter afterRead: called after the stalls of each read were passed on.
    package mutating func read(
        _ file: InputFile,
        progress: ReadProgress? = nil,
        afterRead: () -> Void = {},
        _ take: (ParsedStall) -> Bool
    ) {
        let lineReader = LineReader()
        do throws(InputError) {
            try lineReader.read(file.source(progress: progress), afterRead: afterRead) { piece in
                switch piece {
                case .line(let line): if !self.take(line, take) { lineReader.stop() }
                case .overlong:
                    tally.lines += 1
                    tally.damaged += 1
                }
            }
        } catch {
            inputErrors.append(error)
        }
    }

    /// Passes on the stalls without an end. Call it once, after everything is read.
    package mutating func readOpen(_ take: (ParsedStall) -> Bool) {
        var open: [ParsedStall] = []
        for line in deduplicator.openLines() {
            line.withUnsafeBytes { bytes in
                guard scanner.scan(bytes) == nil, filter.includes(scanner), let stall = scanner.stall() else { return }
                if times.contains(stall.time) { open.append(stall) }
            }
        }
        for stall in open.sorted(by: { ($0.time, $0.id) < ($1.time, $1.id) }) where !take(stall) { return }
    }

    private mutating func take(_ line: UnsafeRawBufferPointer, _ take: (ParsedStall) -> Bool) -> Bool {
        tally.lines += 1
        guard scanner.scan(line) == nil else {
            tally.damaged += 1
            return true
        }
        let kind = scanner.kind()
        switch kind {
        case .begin, .end, .abandoned:
            guard scanner.isCounted(kind, by: deduplicator) else {
                tally.repeated += 1
                return true
            }
            // After the deduplicator, which must see all lines of a stall, because their times may differ.
            guard let time = scanner.time(.time), times.contains(time), filter.includes(scanner), let stall = scanner.stall()
            else {
                return true
            }
            return take(stall)
        case .suppressed, .notice: break
        case .foreign: tally.addForeign(scanner)
        case .incomplete: tally.incomplete += 1
        }
        return true
    }
}
