internal import ArgumentParser
internal import Glibc
internal import LagModel
internal import LagReader

/// `lagmond top --follow`: the table again and again, while the files grow.
struct TopFollowing {
    let command: TopCommand
    let range: Range<Int64>
    let labels: RecordLabels

    /// How often the files are looked at.
    private static let pollNanoseconds = 200_000_000
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
        var grouping = StallGrouping(by: command.by, times: range, labels: labels, deduplicator: deduplicator)
        var hasNewLines = true
        // No clock that somebody may set.
        let clock = SuspendingClock()
        var nextTable = clock.now
        var isLast = false
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
            if hasNewLines, clock.now >= nextTable {
                try show(grouping.snapshot())
                hasNewLines = false
                nextTable = clock.now + .seconds(command.intervalSeconds)
            }
            var wait = timespec(tv_sec: 0, tv_nsec: Self.pollNanoseconds)
            // What was written before the signal is still read.
            isLast = sigtimedwait(&signals, nil, &wait) > 0
        }
        let aggregate = grouping.snapshot()
        if hasNewLines { try show(aggregate) }
        if let leftOut = aggregate.tally.leftOut { Diagnostics.report(leftOut) }
    }

    private func show(_ aggregate: StallGrouping.Aggregate) throws {
        let isTerminal = isatty(STDOUT_FILENO) == 1 && !command.json
        let separator = isTerminal ? Array(Self.clearScreen.utf8) : []
        try StandardOutput.write(separator + command.text(aggregate.table) + (isTerminal || command.json ? [] : [0x0a]))
    }
}
