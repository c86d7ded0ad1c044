internal import Foundation
internal import Glibc
internal import LagModel

/// Runs one target: children read inputs until one of them exits, which is then handled.
struct FuzzRun {
    let target: any FuzzTarget.Type
    let options: FuzzOptions
    /// A scratch folder.
    let folder: String

    /// An input takes a few milliseconds, a start of lagmond a few hundred.
    private static let hangSeconds = 10.0
    /// If a child uses more memory than this, the input controls how much is allocated.
    private static let memoryBytes: UInt64 = 4 << 30
    /// After this many finds the target is broken, and further finds give no information.
    private static let maximumFinds = 20

    private var corpus: String { "\(options.corpus)/\(target.name)" }

    /// Prints a line on stdout.
    /// - Returns: whether nothing was found.
    func run(seconds: Double) throws -> Bool {
        let board = try FuzzBoard(folder + "/board")
        let begin = Date()
        var finds = 0
        var seed = options.seed
        var leftOut: String?
        while finds < Self.maximumFinds {
            let left = seconds - Date().timeIntervalSince(begin)
            guard left > 0 else { break }
            let before = board.tries
            let end = try runChild(["--seed", "\(seed)", "--seconds", "\(left)"], board)
            switch end {
            case .over: break
            case .leftOut: leftOut = "it needs lagmond"
            case .found(let what):
                finds += 1
                let path = try keep(board.input)
                FileHandle.standardError.write(Data("  \(target.name): \(what): \(path)\n".utf8))
                // Otherwise the same input would repeat.
                seed = seed &* 31 &+ board.tries &- before
                continue
            }
            break
        }
        let duration = String(format: "%.1f", Date().timeIntervalSince(begin))
        if let leftOut {
            say("fuzz \(target.name) left out: \(leftOut)")
        } else {
            say("fuzz \(target.name) tries=\(board.tries) finds=\(finds) duration_s=\(duration)")
        }
        return finds == 0
    }

    /// Replays every find, each in a separate child.
    func replay() throws -> Bool {
        let board = try FuzzBoard(folder + "/board")
        let names = FuzzFile.names(in: corpus)
        var finds = 0
        for name in names {
            board.input = FuzzFile.read("\(corpus)/\(name)") ?? []
            if case .found(let what) = try runChild(["--replay"], board) {
                finds += 1
                FileHandle.standardError.write(Data("  \(target.name): \(what): \(corpus)/\(name)\n".utf8))
            }
        }
        say("fuzz \(target.name) replayed=\(names.count) finds=\(finds)")
        return finds == 0
    }

    private func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private enum ChildEnd {
        case over, leftOut
        case found(String)
    }

    /// An exit status that identifies the cause.
    static let leftOutStatus: Int32 = 77

    private func runChild(_ arguments: [String], _ board: FuzzBoard) throws -> ChildEnd {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let lagmond = options.lagmond.map { ["--lagmond", $0] } ?? []
        child.arguments = arguments + lagmond + ["--child", folder, target.name]
        child.standardOutput = FileHandle.nullDevice
        child.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        try child.run()
        var (tries, since) = (board.tries, Date())
        while child.isRunning {
            usleep(20_000)
            if board.tries != tries { (tries, since) = (board.tries, Date()) }
            if Date().timeIntervalSince(since) > Self.hangSeconds {
                kill(child.processIdentifier, SIGKILL)
                child.waitUntilExit()
                return .found("hangs")
            }
        }
        switch (child.terminationReason, child.terminationStatus) {
        case (.exit, 0): return .over
        case (.exit, Self.leftOutStatus): return .leftOut
        case (.exit, let status): return .found("exits with \(status)")
        default: return .found("signal \(child.terminationStatus)")
        }
    }

    private func keep(_ input: [UInt8]) throws -> String {
        try FileManager.default.createDirectory(atPath: corpus, withIntermediateDirectories: true)
        var hash = StableHash()
        hash.combine(input)
        let path = "\(corpus)/\(hash.text)"
        try FuzzFile.write(input, to: path)
        return path
    }

    // MARK: The child

    /// Never returns.
    static func runAsChild(_ options: FuzzOptions, folder: String) -> Never {
        var limit = rlimit(rlim_cur: rlim_t(memoryBytes), rlim_max: rlim_t(memoryBytes))
        setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
        do {
            let board = try FuzzBoard(folder + "/board")
            guard let kind = Lagfuzz.targets.first(where: { $0.name == options.names[0] }) else { exit(EX_USAGE) }
            let beside =
                URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path + "/lagmond"
            let lagmond = [options.lagmond, beside].compactMap { $0 }.first { access($0, X_OK) == 0 }
            let target = try kind.init(FuzzSurroundings(folder: folder, lagmond: lagmond))
            defer { target.finish() }
            try read(target, options, board)
        } catch is NeedsLagmond {
            exit(leftOutStatus)
        } catch {
            FileHandle.standardError.write(Data("  \(error)\n".utf8))
            exit(1)
        }
        exit(0)
    }

    private static func read(_ target: any FuzzTarget, _ options: FuzzOptions, _ board: FuzzBoard) throws {
        if options.replays { return try target.read(board.input) }
        var mutator = Mutator(seed: options.seed, seeds: try target.seeds, tokens: target.tokens)
        let end = Date() + options.seconds
        while Date() < end {
            board.input = mutator.next()
            board.tries += 1
            try target.read(board.input)
        }
    }
}

/// Thrown by a target's initialiser.
struct NeedsLagmond: Error {}
