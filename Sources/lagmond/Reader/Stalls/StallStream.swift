/// The stalls of several inputs, one after the other and each once: for a report, an export. Memory: a ledger, a line.
///
/// Of a stall that has `begin` and `end` the end comes; those whose end does not come follow last.
package struct StallStream: ~Copyable {
    /// Of all that was read so far.
    package private(set) var tally = LineTally()
    package private(set) var troubles: [InputTrouble] = []
    private let times: Range<Int64>
    private let ledger = StallLedger()
    private var scanner = LineScanner()

    /// - Parameter times: by the stall's start, in nanoseconds since 1970.
    package init(times: Range<Int64> = .min ..< .max) { self.times = times }

    /// Hands on the stalls of an input.
    package mutating func read(_ file: InputFile, progress: ReadProgress? = nil, _ take: (ReadStall) -> Void) {
        do throws(InputTrouble) {
            try LineFeed().read(file.source(progress: progress)) { piece in
                switch piece {
                case .line(let line): if !line.isEmpty { self.take(line, take) }
                case .overlong:
                    tally.lines += 1
                    tally.damaged += 1
                }
            }
        } catch {
            troubles.append(error)
        }
    }

    /// Hands on the stalls whose end has not come: once, after everything is read.
    package mutating func readOpen(_ take: (ReadStall) -> Void) {
        var open: [ReadStall] = []
        for line in ledger.openLines() {
            line.withUnsafeBytes { bytes in
                if scanner.scan(bytes) == nil, let stall = scanner.stall() { open.append(stall) }
            }
        }
        for stall in open.sorted(by: { ($0.time, $0.id) < ($1.time, $1.id) }) { take(stall) }
    }

    private mutating func take(_ line: UnsafeRawBufferPointer, _ take: (ReadStall) -> Void) {
        tally.lines += 1
        guard scanner.scan(line) == nil else {
            tally.damaged += 1
            return
        }
        let kind = scanner.kind()
        switch kind {
        case .begin, .end, .abandoned:
            guard let time = scanner.time(.time), times.contains(time) else { return }
            guard scanner.isCounted(kind, by: ledger) else {
                tally.repeated += 1
                return
            }
            if let stall = scanner.stall() { take(stall) }
        case .suppressed, .notice: break
        case .foreign: tally.foreign += 1
        case .incomplete: tally.incomplete += 1
        }
    }
}
