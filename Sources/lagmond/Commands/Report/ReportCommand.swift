internal import ArgumentParser
internal import Glibc
internal import LagReader

/// `lagmond report`: an overview page of stalls.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Create an HTML page of stalls: groups, call graph, heat map, timeline, details.",
        discussion: """
            One HTML file of at most 5 MB that needs no network; its tables are readable without scripts. \
            Each stall counts once, as in top. What does not fit is summarized, and listed at the top of the page.
            The file is replaced when the page is complete. The same lines make the same page.
            """
    )

    @OptionGroup var input: InputOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var filters: FilterOptions

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write; - is stdout.", valueName: "file"))
    var output: String

    @Option(parsing: .unconditional, help: ArgumentHelp("How many groups to show individually.", valueName: "count"))
    var top: Int = 40

    @Option(help: ArgumentHelp("The page's title.", valueName: "text"))
    var title: String = "Stalls"

    @Option(
        help: ArgumentHelp(
            "The URL of a stall's trace, with {trace_id} in it and optionally {span_id}.",
            valueName: "template"
        )
    )
    var traceLink: String?

    private static let allowedTop = 1...200
    private static let maximumTitle = 200
    private static let stdout = "-"

    func validate() throws {
        if !Self.allowedTop.contains(top) { throw ValidationError("--top: \(top) is out of bounds; allowed: 1 to 200") }
        if title.count > Self.maximumTitle {
            throw ValidationError("--title: \(title.count) characters; allowed: \(Self.maximumTitle)")
        }
        if let traceLink, let problem = TraceLink.problem(traceLink) { throw ValidationError("--trace-link: \(problem)") }
        if output.isEmpty { throw ValidationError("--output: needs the name of a file, or -") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let range = try times.range(now: TimeOptions.now)
        let filter = try filters.filter()
        if output == Self.stdout, isatty(STDOUT_FILENO) == 1 {
            throw StartFailure(
                status: ExitStatus.usage,
                message: "-o -: the page cannot be written to a terminal; allowed: a file or a pipe"
            )
        }
        try refuseInputAsOutput()
        var (files, status) = input.open()
        // An empty page would suggest that nothing stalled.
        if files.isEmpty { throw ExitCode(status) }
        let deduplicator = StallDeduplicator()
        let line = ProgressLine(files)
        let result = ParallelLineReader(files, workers: Self.workers, progress: line.progress).run {
            ReportConsumer(times: range, filter: filter, deduplicator: deduplicator)
        }
        line.working(on: "creating the page")
        var open = ReportConsumer(times: range, filter: filter, deduplicator: deduplicator)
        open.takeOpenLines()
        var aggregate = open.finish()
        for part in result.aggregates { aggregate.add(part) }
        if status == ExitStatus.success, result.inputErrors.contains(where: { !$0.isDamage }) { status = ExitStatus.noInput }
        if aggregate.grouping.tally.isUnread {
            line.end()
            if let leftOut = aggregate.grouping.tally.leftOut { Diagnostics.report(leftOut) }
            throw ExitCode(ExitStatus.noInput)
        }
        let missing = input.files.count - files.count
        let inputErrors =
            (missing > 0 ? ["Inputs that could not be opened: \(missing)"] : []) + result.inputErrors.map(\.description).sorted()
        let report = Report(aggregate, title: title, inputs: files.map(\.name), inputErrors: inputErrors, top: top)
        let page = ReportPage(report: report, version: Lagmond.version, traceLink: traceLink).bytes()
        line.end()
        for inputError in result.inputErrors { Diagnostics.report("\(inputError)") }
        if output == Self.stdout { try StandardOutput.write(page) } else { try OutputFile.write(page, to: output) }
        if let leftOut = aggregate.grouping.tally.leftOut { Diagnostics.report(leftOut) }
        if status != ExitStatus.success { throw ExitCode(status) }
    }

    /// If the user forgets a name on the command line, the page would otherwise overwrite the records.
    private func refuseInputAsOutput() throws(StartFailure) {
        if output == Self.stdout { return try InputOptions.refuseStandardOutput(among: input.files) }
        var target = stat()
        guard stat(output, &target) == 0, InputOptions.contains(target, in: input.files) else { return }
        throw StartFailure(status: ExitStatus.usage, message: "--output: \(output) is also an input; allowed: another file")
    }

    /// Each worker needs its own tree, cells and lines.
    private static var workers: Int { min(2, InputOptions.workers) }
}
