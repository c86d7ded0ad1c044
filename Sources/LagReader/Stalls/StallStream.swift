internal import LagModel

/// The stalls of several inputs, one after the other and each once: for a report, an export. Memory: a deduplicator, a line.
///
/// Of a stall that has `begin` and `end` the end comes; those whose end does not come follow last.
package struct StallStream: ~Copyable {
    /// Of all that was read so far.
    package private(set) var tally = LineTally()
    package private(set) var inputErrors: [InputError] = []
    private let times: Range<Int64>
    private let filter: StallFilter
    private let deduplicator = StallDeduplicator()
    private var scanner = LineScanner()

    /// - Parameter times: by the stall's start, in nanoseconds since 1970.
    package init(times: Range<Int64> = .min ..< .max, filter: StallFilter = StallFilter()) {
        self.times = times
        self.filter = filter
    }

    /// Hands on the stalls of an input, until `take` says false.
    /// - Parameter afterRead: called when the stalls of what came at once were handed on.
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

    /// Hands on the stalls whose end has not come: once, after everything is read.
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
            // After the deduplicator, which must know all lines of a stall: they need not have the same time.
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
