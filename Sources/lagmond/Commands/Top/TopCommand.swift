internal import ArgumentParser
internal import Glibc
internal import LagReader

extension GroupKey: ExpressibleByArgument {
    package static var allValueStrings: [String] { allCases.map(\.rawValue) + ["label:NAME"] }
}

/// `lagmond top`: ranks what stalls most.
struct TopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Rank groups of stalls by their total time.",
        discussion: """
            A stall counts once, however many lines report it (begin and end, duplicates); after more than 2 million others a \
            duplicate may count again. A stall without an end line counts with its begin line, as open. \
            held: stalls that a rate limit suppressed; only the total includes them. p50 and p99 are accurate to 0.4 %; hosts are \
            counted exactly up to 64, above that with a standard error of 3 %. Above 65536 groups the rest is one group, -.
            Lines that are damaged or of other programs are skipped and counted on stderr.
            """
    )

    @OptionGroup var input: InputOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var filters: FilterOptions

    @Option(
        help: ArgumentHelp(
            "What makes a group: fingerprint, culprit, cause, loop, process, service or target (a target's name is its service), host, incident, request, label:NAME.",
            valueName: "what"
        )
    )
    var by: GroupKey = .fingerprint

    @Option(parsing: .unconditional, help: ArgumentHelp("How many groups to show; 0: all.", valueName: "count"))
    var limit: Int = 20

    @Flag(help: "Write one JSON object per group and line.")
    var json = false

    @Flag(help: "Follow the files as they grow, through rotation and truncation, until SIGINT or SIGTERM.")
    var follow = false

    @Option(
        name: .customLong("interval-s"),
        parsing: .unconditional,
        help: ArgumentHelp("With --follow: how often the table is written.", valueName: "seconds")
    )
    var intervalSeconds: Double = 2

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit: \(limit) is out of bounds; allowed: 0 or more") }
        if !(0.1...86400).contains(intervalSeconds) {
            throw ValidationError("--interval-s: \(intervalSeconds) is out of bounds; allowed: 0.1 to 86400")
        }
        if follow, input.files.contains(InputFile.stdin) {
            throw ValidationError("--follow: needs files by name; stdin cannot be followed")
        }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        try InputOptions.refuseStandardOutput(among: input.files)
        let range = try times.range(now: TimeOptions.now)
        let filter = try filters.filter()
        if follow { return try TopFollowing(command: self, range: range, filter: filter).run() }
        var (files, status) = input.open()
        // An empty table would suggest that nothing stalled.
        if files.isEmpty { throw ExitCode(status) }
        let deduplicator = StallDeduplicator()
        let line = ProgressLine(files)
        let by = by
        let result = ParallelLineReader(files, workers: InputOptions.workers, progress: line.progress).run {
            StallGrouping(by: by, times: range, filter: filter, deduplicator: deduplicator)
        }
        line.end()
        var open = StallGrouping(by: by, times: range, filter: filter, deduplicator: deduplicator)
        open.takeOpenLines()
        var aggregate = open.finish()
        for part in result.aggregates { aggregate.add(part) }
        for inputError in result.inputErrors { Diagnostics.report("\(inputError)") }
        if status == ExitStatus.success, result.inputErrors.contains(where: { !$0.isDamage }) { status = ExitStatus.noInput }
        if aggregate.tally.isUnread {
            if status == ExitStatus.success { status = ExitStatus.noInput }
        } else {
            try StandardOutput.write(text(aggregate.table, width: TerminalSize.ofStandardOutput().columns))
        }
        if let leftOut = aggregate.tally.leftOut { Diagnostics.report(leftOut) }
        if status != ExitStatus.success { throw ExitCode(status) }
    }

    /// The table, or its JSON.
    /// - Parameters:
    ///   - width: the width of a line of the table; nil: unlimited.
    ///   - rows: the maximum number of groups to show.
    func text(_ table: GroupTable, width: Int?, rows: Int = .max) -> [UInt8] {
        if json { return TopLines(by: by).lines(TopRanking(table, limit: limit)) }
        let ranking = TopRanking(table, limit: limit == 0 ? rows : min(limit, rows))
        return Array((TopText(by: by, width: width).lines(ranking).joined(separator: "\n") + "\n").utf8)
    }
}
