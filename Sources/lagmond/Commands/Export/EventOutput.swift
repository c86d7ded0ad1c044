internal import ArgumentParser
internal import LagOutput
internal import LagReader

/// Converts each of our lines to another format, as a sink of that format would have written it.
///
/// A duplicate line (from a log shipper, or from a file named twice) is written once, as far as a ``StallDeduplicator``
/// remembers.
struct EventOutput: ~Copyable {
    private let format: RecordFormat
    private let times: Range<Int64>
    private let filter: StallFilter
    private let fingerprints: Set<String>
    private let deduplicator = StallDeduplicator()
    private var scanner = LineScanner()
    private var encoder: RecordEncoder?
    private(set) var tally = LineTally()
    /// Whether any line matched.
    private(set) var hasMatch = false
    /// Output that is ready to be written.
    private(set) var text: [UInt8] = []

    /// The maximum line length: what the writer kept is not truncated again.
    private static let limits = (try? LineLimits(maxLineBytes: LineLimits.allowedLineBytes.upperBound)) ?? .standard

    /// - Parameters:
    ///   - times: selects lines by time, in nanoseconds since 1970.
    ///   - fingerprints: selects lines; empty: all.
    init(
        format: RecordFormat,
        times: Range<Int64> = .min ..< .max,
        filter: StallFilter = StallFilter(),
        fingerprints: Set<String> = []
    ) {
        self.format = format
        self.times = times
        self.filter = filter
        self.fingerprints = fingerprints
    }

    /// - Throws: an error that ends the reading: stdout accepts no more.
    mutating func read(_ file: InputFile, progress: ReadProgress) throws {
        let lineReader = LineReader()
        var refusal: ExitCode?
        func flush(above bytes: Int) {
            guard refusal == nil, text.count > bytes else { return }
            do throws(ExitCode) { try self.flush() } catch {
                refusal = error
                lineReader.stop()
            }
        }
        func take(_ piece: LineReader.Piece) {
            switch piece {
            case .line(let line): add(line)
            case .overlong:
                tally.lines += 1
                tally.damaged += 1
            }
            flush(above: ExportCommand.outputBytes)
        }
        // A user may be watching the output of a pipe.
        try lineReader.read(file.source(progress: progress), afterRead: { if file.bytes == nil { flush(above: 0) } }, take)
        if let refusal { throw refusal }
    }

    mutating func add(_ line: UnsafeRawBufferPointer) {
        tally.lines += 1
        guard scanner.scan(line) == nil else {
            tally.damaged += 1
            return
        }
        guard scanner.kind() != .foreign else {
            tally.addForeign(scanner)
            return
        }
        guard let written = scanner.parsedLine() else {
            tally.incomplete += 1
            return
        }
        guard deduplicator.admit(written.hash, isBegin: false, line: line) == .count else {
            tally.repeated += 1
            return
        }
        guard times.contains(written.time), filter.includes(scanner),
            fingerprints.isEmpty || fingerprints.contains(written.fingerprint ?? "")
        else { return }
        hasMatch = true
        append(written)
    }

    private mutating func append(_ line: ParsedLine) {
        var encoder = encoder.take() ?? RecordEncoder(context: line.context, limits: Self.limits, format: format)
        if encoder.context != line.context {
            encoder = RecordEncoder(context: line.context, limits: Self.limits, format: format)
        }
        func put(_ bytes: UnsafeRawBufferPointer) { text += bytes }
        switch line.content {
        case .stall(let record): encoder.encode(record, put)
        case .notice(let notice): encoder.encode(notice, put)
        }
        self.encoder = encoder
    }

    mutating func flush() throws(ExitCode) {
        try StandardOutput.write(text)
        text.removeAll(keepingCapacity: true)
    }
}
