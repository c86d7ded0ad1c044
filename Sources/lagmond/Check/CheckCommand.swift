internal import ArgumentParser
internal import Glibc
internal import LagReader
internal import LagWorkload

/// `lagmond check`: whether lines are what the schema says.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check every line against the schema lagmonitor.stall.v1.",
        discussion: """
            Tells each damaged line with file, line number and what is wrong with which field, goes on, and sums up on stderr. Fields that \
            the schema does not know are allowed. Ends with 1 when something is damaged.
            """
    )

    @OptionGroup var input: InputOptions

    @Option(help: ArgumentHelp("How many damaged lines of a file are told; 0: all.", valueName: "count"))
    var limit: Int = 0

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit: \(limit) is out of bounds; allowed: 0 or more") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let (files, status) = input.open()
        var total = CheckSum()
        let line = ProgressLine(files)
        defer { line.end() }
        for file in files {
            var check = FileCheck(file: file, limit: limit)
            total.add(try check.run(line.progress))
        }
        line.end()
        Diagnostics.say(total.text)
        if status != ExitStatus.success { throw ExitCode(status) }
        if total.isUnreadable { throw ExitCode(ExitStatus.noInput) }
        if total.damaged > 0 || total.isCut { throw ExitCode(ExitStatus.damaged) }
    }
}

/// What was found in one file or more.
struct CheckSum: Equatable {
    var lines = 0
    var damaged = 0
    /// The compressed data are damaged.
    var isCut = false
    /// The rest of a file could not be read.
    var isUnreadable = false

    mutating func add(_ other: CheckSum) {
        lines += other.lines
        damaged += other.damaged
        isCut = isCut || other.isCut
        isUnreadable = isUnreadable || other.isUnreadable
    }

    var text: String {
        let damage = damaged == 0 ? "none damaged" : "\(damaged) damaged"
        return "\(lines) \(lines == 1 ? "line" : "lines"), \(damage)" + (isCut ? "; compressed data were damaged" : "")
    }
}

/// The check of one file.
struct FileCheck: ~Copyable {
    private let file: InputFile
    private let limit: Int
    private var check = LineCheck()
    private var sum = CheckSum()
    private var output: [UInt8] = []

    private static let outputBytes = 64 << 10

    init(file: InputFile, limit: Int) {
        self.file = file
        self.limit = limit
    }

    mutating func run(_ progress: ReadProgress) throws -> CheckSum {
        let feed = LineFeed()
        var refusal: ExitCode?
        func flushNow() {
            do throws(ExitCode) {
                try flush()
            } catch {
                refusal = error
                feed.stop()
            }
        }
        do throws(InputTrouble) {
            // What comes through a pipe may be watched.
            func flushStream() { if file.bytes == nil { flushNow() } }
            try feed.read(file.source(progress: progress), afterRead: flushStream) { piece in
                switch piece {
                case .line(let line): take(check.problems(in: line), feed)
                case .overlong: take(["longer than \(LineFeed.maximumLineBytes) bytes"], feed)
                }
                if output.count > Self.outputBytes { flushNow() }
            }
        } catch {
            sum.isCut = error.isDamage
            sum.isUnreadable = !error.isDamage
            Diagnostics.say("\(error)")
        }
        if let refusal { throw refusal }
        try flush()
        if limit > 0, sum.damaged > limit { Diagnostics.say("\(file.name): \(sum.damaged - limit) more lines are damaged") }
        return sum
    }

    private mutating func take(_ problems: [String], _ feed: LineFeed) {
        sum.lines += 1
        guard !problems.isEmpty else { return }
        sum.damaged += 1
        guard limit == 0 || sum.damaged <= limit else { return }
        let ending = feed.isUnterminated ? " (the last line, and it has no newline: cut short?)" : ""
        let text = "\(file.name):\(feed.lineNumber): \(problems.joined(separator: "; "))\(ending)"
        output += Array("\(PlainText.harmless(text.utf8))\n".utf8)
    }

    private mutating func flush() throws(ExitCode) {
        try StandardOutput.write(output)
        output.removeAll(keepingCapacity: true)
    }
}
