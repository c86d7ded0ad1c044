internal import ArgumentParser
internal import Glibc
internal import LagMonitorDelivery
internal import LagOutput
internal import LagReader

/// `lagmond export`: stalls for profilers and event tools.
struct ExportCommand: ParsableCommand {
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case folded, perf, speedscope, pprof
        case sentry, otlp

        /// The format, if it is one that converts line by line.
        var events: RecordFormat? {
            switch self {
            case .folded, .perf, .speedscope, .pprof: nil
            case .sentry: .sentry
            case .otlp: .otlp
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Convert stalls to profiles (flame graphs, perf, speedscope, pprof) or events (sentry, otlp).",
        discussion: """
            folded: one stack per line, for flamegraph.pl and inferno; perf: the format of perf script; speedscope: a file for speedscope.app; \
            pprof: gzip'ed protobuf, for go tool pprof. Weights are the time stalled, in milliseconds (pprof: nanoseconds). \
            Records with all samples of a thread (samples: all) share their time among the samples. Each stall counts once.

            sentry and otlp: a JSON line for each line, as lagmond would have written it with that --format: a Sentry event; a request \
            of OTLP over HTTP with one log record. Lines about losses are events, too; duplicates are written once.
            """
    )

    @OptionGroup var input: InputOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var filters: FilterOptions

    @Option(help: ArgumentHelp("folded, perf, speedscope, pprof, sentry or otlp.", valueName: "name"))
    var format: Format

    @Option(help: ArgumentHelp("Only stalls with this fingerprint; may be repeated.", valueName: "v1:…"))
    var fingerprint: [String] = []

    static let outputBytes = 256 << 10

    func validate() throws {
        for text in fingerprint
        where !text.hasPrefix("v1:") || text.utf8.count != 19 || UInt64(text.dropFirst(3), radix: 16) == nil {
            throw ValidationError("--fingerprint: \"\(text)\" is not a fingerprint; allowed: v1: and 16 hex digits")
        }
    }

    /// Reports why stdout is empty although there was no error, as `top` does.
    private func reportNoMatch() {
        if !fingerprint.isEmpty { Diagnostics.report("no stall with fingerprint \(fingerprint.joined(separator: ", "))") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        try InputOptions.refuseStandardOutput(among: input.files)
        let range = try times.range(now: TimeOptions.now)
        let filter = try filters.filter()
        var (files, status) = input.open()
        if format == .pprof, isatty(STDOUT_FILENO) == 1 {
            throw StartFailure(
                status: ExitStatus.usage,
                message: "pprof is binary and stdout is a terminal; allowed: a file or a pipe"
            )
        }
        let wanted = Set(fingerprint)
        if let events = format.events {
            return try writeEvents(
                files,
                status,
                EventOutput(format: events, times: range, filter: filter, fingerprints: wanted)
            )
        }
        let line = ProgressLine(files, isStreaming: true)
        var output = ProfileOutput(format: format)
        var stream = StallStream(times: range, filter: filter)
        var refusal: ExitCode?
        var hasMatch = false
        func flush() {
            do throws(ExitCode) { try output.flush() } catch { refusal = error }
        }
        /// False when stdout accepts no more.
        func take(_ stall: ParsedStall) -> Bool {
            guard wanted.isEmpty || wanted.contains(stall.fingerprint) else { return true }
            hasMatch = true
            output.add(stall)
            if output.text.count > Self.outputBytes { flush() }
            return refusal == nil
        }
        for file in files where refusal == nil {
            // A user may be watching the output of a pipe.
            stream.read(file, progress: line.progress, afterRead: { if file.bytes == nil, refusal == nil { flush() } }, take)
        }
        if let refusal {
            line.end()
            throw refusal
        }
        stream.readOpen(take)
        line.end()
        if let refusal { throw refusal }
        for inputError in stream.inputErrors { Diagnostics.report("\(inputError)") }
        if status == ExitStatus.success, stream.inputErrors.contains(where: { !$0.isDamage }) { status = ExitStatus.noInput }
        try output.finish()
        if !hasMatch { reportNoMatch() }
        if let leftOut = stream.tally.leftOut { Diagnostics.report(leftOut) }
        if status == ExitStatus.success, stream.tally.isUnread { status = ExitStatus.noInput }
        if status != ExitStatus.success { throw ExitCode(status) }
    }

    private func writeEvents(_ files: [InputFile], _ given: Int32, _ output: consuming EventOutput) throws {
        let line = ProgressLine(files, isStreaming: true)
        var status = given
        for file in files {
            do {
                try output.read(file, progress: line.progress)
            } catch let inputError as InputError {
                Diagnostics.report("\(inputError)")
                if status == ExitStatus.success, !inputError.isDamage { status = ExitStatus.noInput }
            } catch {
                line.end()
                throw error
            }
        }
        line.end()
        try output.flush()
        if !output.hasMatch { reportNoMatch() }
        if let leftOut = output.tally.leftOut { Diagnostics.report(leftOut) }
        if status == ExitStatus.success, output.tally.isUnread { status = ExitStatus.noInput }
        if status != ExitStatus.success { throw ExitCode(status) }
    }
}

/// A profile that is being built.
struct ProfileOutput {
    private let format: ExportCommand.Format
    private var tree = CallTree()
    private var firstTime = Int64.max
    private var lastTime = Int64.min
    /// Output that is ready to be written.
    private(set) var text: [UInt8] = []

    init(format: ExportCommand.Format) { self.format = format }

    mutating func add(_ stall: ParsedStall) {
        firstTime = min(firstTime, stall.time)
        lastTime = max(lastTime, stall.time)
        if format == .perf {
            text += PerfText.text(stall)
            return
        }
        // A stall counts once, however many paths it was sampled in: the first path, the heaviest, gets the count.
        var count: UInt64 = 1
        let labels = format == .pprof ? StackLabels(stall) : nil
        StackPath.forEach(of: stall) { path in
            tree.add(path, count: count, labels: labels)
            count = 0
        }
    }

    mutating func flush() throws(ExitCode) {
        try StandardOutput.write(text)
        text.removeAll(keepingCapacity: true)
    }

    mutating func finish() throws {
        if tree.shortened > 0 {
            Diagnostics.report("\(tree.shortened) stacks were truncated: more than \(CallTree.maximumNodes) nodes")
        }
        switch format {
        case .folded: text = FoldedText.text(tree)
        case .perf, .sentry, .otlp: break
        case .speedscope: text = SpeedscopeFile.text(tree, name: "stalls", version: Lagmond.version)
        case .pprof:
            let hasTime = firstTime <= lastTime
            // Centuries do not fit.
            let nanoseconds = hasTime ? lastTime.subtractingReportingOverflow(firstTime).partialValue.magnitude : 0
            guard
                let packed = Gzip.compressed(
                    PprofFile.bytes(tree, time: hasTime ? firstTime : 0, nanoseconds: Int64(clamping: nanoseconds))
                )
            else {
                throw StartFailure(
                    status: ExitStatus.systemError,
                    message: "the profile cannot be compressed: too large, or out of memory"
                )
            }
            text = packed
        }
        try flush()
    }
}
