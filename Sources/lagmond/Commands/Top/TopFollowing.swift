internal import ArgumentParser
internal import Glibc
internal import LagReader

/// `lagmond top --follow`: rewrites the table while the files grow.
struct TopFollowing {
    let command: TopCommand
    let range: Range<Int64>
    let filter: StallFilter

    /// How often the files are polled.
    private static let pollNanoseconds = 200_000_000
    /// Summary, head, and the line where the cursor stays.
    private static let otherRows = 3
    private static let clearScreen = "\u{1b}[H\u{1b}[2J"

    func run() throws {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM] { sigaddset(&signals, number) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let files = command.input.files.map(FollowedFile.init)
        for refusal in files.compactMap({ $0.openFirst() }) {
            throw StartFailure(status: ExitStatus.noInput, message: "\(refusal)")
        }
        var reportedErrors: Set<String> = []
        let deduplicator = StallDeduplicator()
        var grouping = StallGrouping(by: command.by, times: range, filter: filter, deduplicator: deduplicator)
        var hasNewLines = true
        // A clock that cannot be set.
        let clock = SuspendingClock()
        var nextTable = clock.now
        var isLast = false
        var size = TerminalSize()
        while true {
            for file in files {
                let hasRead = file.readNew { piece in
                    switch piece {
                    case .line(let line): grouping.take(line)
                    case .overlong: grouping.takeOverlong()
                    }
                }
                hasNewLines = hasNewLines || hasRead
                if let inputError = file.inputError, reportedErrors.insert("\(inputError)").inserted {
                    Diagnostics.report("\(inputError); waiting for it")
                }
            }
            if isLast { break }
            let newSize = TerminalSize.ofStandardOutput()
            if hasNewLines || newSize != size, clock.now >= nextTable {
                size = newSize
                try show(grouping.snapshot(), size)
                hasNewLines = false
                nextTable = clock.now + .seconds(command.intervalSeconds)
            }
            var wait = timespec(tv_sec: 0, tv_nsec: Self.pollNanoseconds)
            // Lines that were written before the signal are still read.
            isLast = sigtimedwait(&signals, nil, &wait) > 0
        }
        let aggregate = grouping.snapshot()
        if hasNewLines { try show(aggregate, TerminalSize.ofStandardOutput()) }
        if let leftOut = aggregate.tally.leftOut { Diagnostics.report(leftOut) }
    }

    /// On a terminal, limits the groups so that the summary and the head stay visible.
    private func show(_ aggregate: StallGrouping.Aggregate, _ size: TerminalSize) throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1 && !command.json
        let separator = isTerminal ? Array(Self.clearScreen.utf8) : []
        let rows = isTerminal ? size.rows.map { max(1, $0 - Self.otherRows) } ?? .max : .max
        let text = command.text(aggregate.table, width: size.columns, rows: rows)
        try StandardOutput.write(separator + text + (isTerminal || command.json ? [] : [0x0a]))
    }
}
