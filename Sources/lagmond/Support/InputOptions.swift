internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import LagModel
internal import LagMonitor
internal import LagReader

/// The inputs of the commands that read records.
struct InputOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("Files with records, a JSON line each, plain or gzip; - is stdin.", valueName: "file"))
    var files: [String] = [InputFile.stdin]

    /// The maximum number of reader threads; more would only wait for memory.
    static let maximumWorkers = 8

    static var workers: Int { min(maximumWorkers, max(1, ProcessInfo.processInfo.activeProcessorCount)) }

    mutating func validate() throws { try Self.validate(files) }

    static func validate(_ files: [String]) throws {
        if files.count(where: { $0 == InputFile.stdin }) > 1 {
            throw ValidationError("-: stdin can be read once; allowed: one -")
        }
    }

    /// Whether one of the files is the regular file `target`, under any name.
    static func contains(_ target: stat, in files: [String]) -> Bool {
        guard target.st_mode & S_IFMT == S_IFREG else { return false }
        return files.contains { file in
            var source = stat()
            let result = file == InputFile.stdin ? fstat(STDIN_FILENO, &source) : stat(file, &source)
            return result == 0 && source.st_dev == target.st_dev && source.st_ino == target.st_ino
        }
    }

    /// A file that is also the output would be damaged, and grow forever under a command that writes while it reads.
    /// - Throws: ``StartFailure`` if stdout is one of the files.
    static func refuseStandardOutput(among files: [String]) throws(StartFailure) {
        var target = stat()
        guard fstat(STDOUT_FILENO, &target) == 0, contains(target, in: files) else { return }
        throw StartFailure(status: ExitStatus.usage, message: "stdout: is also an input; allowed: another file, or a pipe")
    }

    /// Opens all files and reports those that cannot be read.
    /// - Returns: the files, and the exit status so far.
    func open() -> (files: [InputFile], status: Int32) {
        var opened: [InputFile] = []
        var status = ExitStatus.success
        for path in files {
            do throws(InputError) {
                opened.append(try InputFile(path))
            } catch {
                Diagnostics.report("\(error)")
                status = ExitStatus.noInput
            }
        }
        return (opened, status)
    }
}

/// Selects stalls by the names and the operator's labels in their records.
struct FilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only stalls of processes with this name; a pattern with *, ? and [], may be repeated.",
            valueName: "pattern"
        )
    )
    var process: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only stalls of this service; a target's name is its service. A pattern, may be repeated.",
            valueName: "pattern"
        )
    )
    var service: [String] = []

    @Option(help: ArgumentHelp("Only stalls of loops with this name; a pattern, may be repeated.", valueName: "pattern"))
    var loop: [String] = []

    @Option(help: ArgumentHelp("Only stalls on this host; a pattern, may be repeated.", valueName: "pattern"))
    var host: [String] = []

    @Option(help: ArgumentHelp("Only stalls with this cause; a pattern, may be repeated.", valueName: "pattern"))
    var cause: [String] = []

    @Option(help: ArgumentHelp("Only stalls with this label: team=shop; with several, all must match.", valueName: "name=value"))
    var label: [String] = []

    /// - Throws: ``StartFailure`` for an invalid label.
    func filter() throws(StartFailure) -> StallFilter {
        let value = JSONValue.array(label.map(JSONValue.string))
        if let reason = SettingKey.labels.validationError(for: value) {
            throw StartFailure(status: ExitStatus.usage, message: "--label: \(reason); allowed: \(RecordLabels.allowed)")
        }
        return StallFilter(
            [.processName: process, .serviceName: service, .loop: loop, .hostName: host, .cause: cause],
            labels: (try? RecordLabels(LabelPairs.merged([value]))) ?? .none
        )
    }
}

/// Selects stalls by their start time.
struct TimeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only stalls that began at this time or later: 2026-11-21T18:00:00Z, or 90m, 24h, 7d before now.",
            valueName: "time"
        )
    )
    var since: String?

    @Option(help: ArgumentHelp("Only stalls that began before this time.", valueName: "time"))
    var until: String?

    func range(now: Int64) throws(StartFailure) -> Range<Int64> {
        let from = try since.map { text throws(StartFailure) in try Self.time(text, option: "--since", now: now) } ?? .min
        let to = try until.map { text throws(StartFailure) in try Self.time(text, option: "--until", now: now) } ?? .max
        guard from <= to else {
            throw StartFailure(
                status: ExitStatus.usage,
                message: "--since is later than --until; allowed: the same time or before"
            )
        }
        return from..<to
    }

    private static let secondsPerUnit: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]

    static func time(_ text: String, option: String, now: Int64) throws(StartFailure) -> Int64 {
        if let unit = text.last.flatMap({ secondsPerUnit[$0] }), let number = Int64(text.dropLast()), (0...36500).contains(number)
        {
            return now - number * unit * 1_000_000_000
        }
        if let time = UTCTime.nanoseconds(text) ?? UTCTime.nanoseconds(text + "T00:00:00Z") { return time }
        let allowed = "2026-11-21T18:00:00Z, 2026-11-21, or a number with s, m, h or d for a time before now"
        throw StartFailure(status: ExitStatus.usage, message: "\(option): \"\(text)\" is not a time; allowed: \(allowed)")
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000_000) }
}
