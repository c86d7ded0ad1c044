internal import ArgumentParser
internal import Glibc
internal import LagModel
internal import LagReader

/// `lagmond check`: checks whether lines conform to the schema.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check every line against the schema lagmonitor.stall.v1.",
        discussion: """
            Reports each damaged line with file, line number, field and error, and a summary on stderr. Fields that \
            the schema does not define are allowed. The exit code is 1 when a line is damaged.
            """
    )

    @OptionGroup var input: InputOptions

    @Option(help: ArgumentHelp("How many damaged lines of a file to report; 0: all.", valueName: "count"))
    var limit: Int = 0

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit: \(limit) is out of bounds; allowed: 0 or more") }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        try InputOptions.refuseStandardOutput(among: input.files)
        let (files, status) = input.open()
        var total = CheckSummary()
        let line = ProgressLine(files)
        defer { line.end() }
        for file in files {
            var check = FileCheck(file: file, limit: limit)
            total.add(try check.run(line.progress))
        }
        line.end()
        Diagnostics.report(total.text)
        if status != ExitStatus.success { throw ExitCode(status) }
        if total.isUnreadable { throw ExitCode(ExitStatus.noInput) }
        if total.damaged > 0 || total.isCompressionDamaged { throw ExitCode(ExitStatus.damaged) }
    }
}

/// The findings in one or more files.
struct CheckSummary: Equatable {
    var lines = 0
    var damaged = 0
    /// The compressed data are damaged.
    var isCompressionDamaged = false
    /// The rest of a file could not be read.
    var isUnreadable = false

    mutating func add(_ other: CheckSummary) {
        lines += other.lines
        damaged += other.damaged
        isCompressionDamaged = isCompressionDamaged || other.isCompressionDamaged
        isUnreadable = isUnreadable || other.isUnreadable
    }

    var text: String {
        let damage = damaged == 0 ? "none damaged" : "\(damaged) damaged"
        return "\(lines) \(lines == 1 ? "line" : "lines"), \(damage)"
            + (isCompressionDamaged ? "; compressed data were damaged" : "")
    }
}

/// The check of one file.
struct FileCheck: ~Copyable {
    private let file: InputFile
    private let limit: Int
    private var check = LineCheck()
    private var sum = CheckSummary()
    private var output: [UInt8] = []

    private static let outputBytes = 64 << 10

    init(file: InputFile, limit: Int) {
        self.file = file
        self.limit = limit
    }

    mutating func run(_ progress: ReadProgress) throws -> CheckSummary {
        let lineReader = LineReader()
        var refusal: ExitCode?
        func flushNow() {
            do throws(ExitCode) {
                try flush()
            } catch {
                refusal = error
                lineReader.stop()
            }
        }
        do throws(InputError) {
            // A user may be watching the output of a pipe.
            func flushStream() { if file.bytes == nil { flushNow() } }
            try lineReader.read(file.source(progress: progress), afterRead: flushStream) { piece in
                switch piece {
                case .line(let line): take(check.validationErrors(in: line), lineReader)
                case .overlong: take(["longer than \(LineReader.maximumLineBytes) bytes"], lineReader)
                }
                if output.count > Self.outputBytes { flushNow() }
            }
        } catch {
            sum.isCompressionDamaged = error.isDamage
            sum.isUnreadable = !error.isDamage
            Diagnostics.report("\(error)")
        }
        if let refusal { throw refusal }
        try flush()
        if limit > 0, sum.damaged > limit { Diagnostics.report("\(file.name): further damaged lines: \(sum.damaged - limit)") }
        return sum
    }

    private mutating func take(_ validationErrors: [String], _ lineReader: LineReader) {
        sum.lines += 1
        guard !validationErrors.isEmpty else { return }
        sum.damaged += 1
        guard limit == 0 || sum.damaged <= limit else { return }
        let ending = lineReader.isUnterminated ? " (last line, without a newline: truncated?)" : ""
        let text = "\(file.name):\(lineReader.lineNumber): \(validationErrors.joined(separator: "; "))\(ending)"
        output += Array("\(PlainText.sanitized(text.utf8))\n".utf8)
    }

    private mutating func flush() throws(ExitCode) {
        try StandardOutput.write(output)
        output.removeAll(keepingCapacity: true)
    }
}
