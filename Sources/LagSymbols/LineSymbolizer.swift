internal import CLagBeacon
package import LagDiagnosis
package import LagModel

/// Files, lines and inlined functions for addresses, from a long-running `llvm-symbolizer`. **For the reporter thread only**: it
/// starts a child, opens files, and waits for answers, at most ``deadline`` per batch.
///
/// Supports Swift and C, with and without optimisation, and the DWARF versions and compressions that the program knows. The
/// module's file must have the requested build ID; if it has no line tables, the debug file of the same build ID is used.
/// Never fails: without a program, a file or a line, or if the child hangs or dies, the answer is empty. A child that
/// needs longer, for example to read a big program the first time, continues, and its answers are used when they arrive. A child
/// that fails, or sends nothing for 30 s, is killed, and another is started at most three times a minute; the query at which it
/// failed is not repeated.
///
/// Memory: ``cacheBytes`` here. The child is limited to 512 MiB of its own, and ended when it has read
/// 32 files, or when a file that it has read was replaced. Descriptors: two, while there is a child.
///
/// The first batch also costs the child's start and its first reading of the program (some ten milliseconds); an early query at a
/// quiet time avoids that. The exit of the child raises SIGCHLD in the host, as for any child, so a
/// monitored process resolves lines only if they are enabled.
package struct LineSymbolizer: LineSource {
    /// The default memory for cached answers, by (build ID or path, address).
    package static let defaultCacheBytes = 4 << 20
    package static let defaultDeadline = Duration.seconds(2)
    /// A child that sends nothing for this long is not reading a big file but hangs.
    static let defaultSilenceNanoseconds: UInt64 = 30_000_000_000
    /// How long a batch waits for answers to an earlier one: almost not at all.
    private static let lateNanoseconds: UInt64 = 10_000_000
    /// Limited because a child keeps what it has read of each file.
    static let maximumFilesAChild = 32

    private typealias Key = SymbolCache<[ResolvedFrame]>.Key

    private struct Question {
        let key: Key
        let file: SymbolFiles.LineFile
        var address: UInt64 { key.address }
    }

    /// The batch that the child is working on.
    private struct Work {
        let questions: ArraySlice<Question>
        var exchange: SymbolizerProcess.Exchange
        /// How many of its answers are already cached.
        var taken = 0
        /// When it was sent, or the last answer arrived.
        var lastAnswer: UInt64

        init(_ questions: ArraySlice<Question>) {
            self.questions = questions
            exchange = .init(LineSymbolizer.text(of: questions), addresses: questions.map(\.address))
            lastAnswer = clb_now_ns()
        }
    }

    /// The program; nil if there is none.
    package let program: String?
    /// How long a batch may take.
    package let deadline: Duration
    /// Shortens waits, from any thread.
    package let waitLimit: SharedDeadline
    private let files: SymbolFiles
    private let demangler = Demangler()
    private var cache: SymbolCache<[ResolvedFrame]>
    private var replaced = ReplacedFiles()
    private var child: SymbolizerProcess?
    /// The batch that the child has not finished in time: nothing else is queried meanwhile.
    private var work: Work?
    var silenceNanoseconds = LineSymbolizer.defaultSilenceNanoseconds
    /// The files that the child has read.
    private var childFiles: [String: FileIdentity] = [:]
    private var budget = RestartBudget()
    /// Queries sent to a child so far; lets tests verify the cache.
    package private(set) var questionCount = 0
    private var hasAnswered = false
    /// Whether a child has failed and none has ever answered: the program is not a working `llvm-symbolizer`.
    package var hasOnlyFailed: Bool { budget.hasFailed && !hasAnswered }

    /// Searches for the program and the demanglers, which takes the loader's lock: create it at start. Starts nothing.
    /// - Parameters:
    ///   - program: the path of an `llvm-symbolizer`, LLVM 11 or later; nil: see ``SymbolizerProgram/find()``.
    ///   - debugRoots: the parents of `.build-id` directories, in the order of the search.
    ///   - deadline: how long a batch may take.
    ///   - cacheBytes: memory for answers.
    ///   - waitLimit: can end a wait before that.
    package init(
        program: String? = nil,
        debugRoots: [String] = [Symbolizer.debugRoot],
        deadline: Duration = LineSymbolizer.defaultDeadline,
        cacheBytes: Int = LineSymbolizer.defaultCacheBytes,
        waitLimit: SharedDeadline = SharedDeadline()
    ) {
        let files = SymbolFiles(debugRoots: debugRoots)
        self.init(files: files, program: program, deadline: deadline, cacheBytes: cacheBytes, waitLimit: waitLimit)
    }

    package init(
        files: SymbolFiles,
        program: String? = nil,
        deadline: Duration = LineSymbolizer.defaultDeadline,
        cacheBytes: Int = LineSymbolizer.defaultCacheBytes,
        waitLimit: SharedDeadline = SharedDeadline()
    ) {
        self.program = program ?? SymbolizerProgram.find()
        self.deadline = deadline
        self.waitLimit = waitLimit
        self.files = files
        cache = SymbolCache(byteLimit: cacheBytes)
    }

    /// The number of cached answers.
    package var cachedCount: Int { cache.count }
    /// The running child's process ID.
    package var childPID: Int32? { child?.pid }

    /// The levels of each query's frame, leaf first: inlined functions, and last the function itself. Empty if
    /// no line is known, or if the child needs longer: then it continues, and a later query finds the answer.
    package mutating func levels(for queries: [SymbolQuery]) -> [[ResolvedFrame]] {
        if work != nil { _ = takeAnswers(until: clb_now_ns() + Self.lateNanoseconds) }
        if replaced.contains(oneOf: queries, files) { cache.removeAll() }
        var answers: [Key: [ResolvedFrame]] = [:]
        var unknown: [SymbolFiles.Module: Set<Key>] = [:]
        for query in queries {
            let key = Key(query)
            if let known = cache.value(for: key) {
                answers[key] = known
            } else {
                unknown[SymbolFiles.Module(query), default: []].insert(key)
            }
        }
        if program != nil, !unknown.isEmpty {
            for (key, levels) in ask(questions(unknown)) { answers[key] = levels }
        }
        return queries.map { answers[Key($0)] ?? [] }
    }

    /// Ends the child, if there is one; the next query starts another. The cache stays.
    package mutating func close() {
        child?.end()
        child = nil
        work = nil
        childFiles = [:]
    }

    private mutating func questions(_ unknown: [SymbolFiles.Module: Set<Key>]) -> [Question] {
        var questions: [Question] = []
        for (module, keys) in unknown.sorted(by: { $0.key.path < $1.key.path }) {
            switch files.lineFile(of: module) {
            case .found(let file) where Self.quoted(file.path) != nil:
                // Sorted by address, because neighbours share the data that the child must read.
                questions += keys.sorted { $0.address < $1.address }.map { Question(key: $0, file: file) }
            case .found, .withoutLines:
                for key in keys { cache.insert([], for: key) }
            case .missing: break
            }
        }
        return questions
    }

    private mutating func ask(_ questions: [Question]) -> [Key: [ResolvedFrame]] {
        let end = clb_now_ns() + UInt64(max(0, deadline / .nanoseconds(1)))
        var answers: [Key: [ResolvedFrame]] = [:]
        var rest = questions[...]
        while work == nil, !rest.isEmpty, clb_now_ns() < min(end, waitLimit.nanoseconds) {
            let batch = Self.batch(of: rest)
            guard childFor(batch) != nil else { break }
            questionCount += batch.count
            work = Work(batch)
            let (found, settled) = takeAnswers(until: end)
            answers.merge(found) { $1 }
            rest = rest.dropFirst(settled)
        }
        return answers
    }

    /// Receives and caches the child's answers.
    /// - Returns: the answers, and how many queries of the batch are settled.
    private mutating func takeAnswers(until end: UInt64) -> (answers: [Key: [ResolvedFrame]], settled: Int) {
        guard var work, let child else { return ([:], 0) }
        let ending = child.advance(&work.exchange, deadline: end, waitLimit)
        let now = clb_now_ns()
        let replies = work.exchange.replies.replies
        var settled = work.taken..<replies.count
        var answers: [Key: [ResolvedFrame]] = [:]
        for (question, reply) in zip(work.questions.dropFirst(work.taken), replies[settled]) {
            answers[question.key] = levels(reply)
        }
        if !settled.isEmpty { (work.lastAnswer, hasAnswered) = (now, true) }
        work.taken = replies.count
        let hangs = ending == .timedOut && now - work.lastAnswer >= silenceNanoseconds
        if ending == .timedOut, !hangs {
            self.work = work
        } else {
            self.work = nil
        }
        if ending == .broken || hangs {
            close()
            budget.recordFailure(at: now)
            // The query at which it failed would make the next child fail too.
            if let culprit = work.questions.dropFirst(settled.upperBound).first {
                answers[culprit.key] = []
                settled = settled.lowerBound..<settled.upperBound + 1
            }
        }
        return (kept(answers, of: work.questions.dropFirst(settled.lowerBound).prefix(settled.count)), settled.upperBound)
    }

    /// As many queries as one child may read files for.
    private static func batch(of questions: ArraySlice<Question>) -> ArraySlice<Question> {
        var seen: Set<String> = []
        return questions.prefix { question in
            seen.insert(question.file.path)
            return seen.count <= maximumFilesAChild
        }
    }

    /// The child, or a new one if the current child may have read an older version of a file.
    private mutating func childFor(_ questions: ArraySlice<Question>) -> SymbolizerProcess? {
        let wanted = Dictionary(questions.map { ($0.file.path, $0.file.identity) }) { first, _ in first }
        let changed = wanted.contains { path, identity in childFiles[path].map { $0 != identity } ?? false }
        let added = wanted.count { childFiles[$0.key] == nil }
        if changed || childFiles.count + added > Self.maximumFilesAChild { close() }
        if child == nil, let program {
            let now = clb_now_ns()
            guard budget.allowsStart(at: now) else { return nil }
            child = SymbolizerProcess.start(program)
            if child == nil { budget.recordFailure(at: now) }
        }
        guard let child else { return nil }
        childFiles.merge(wanted) { $1 }
        return child
    }

    /// Caches the answers, except those from a file that was replaced meanwhile: they may refer to either version.
    private mutating func kept(_ answers: [Key: [ResolvedFrame]], of questions: ArraySlice<Question>) -> [Key: [ResolvedFrame]] {
        let files = Set(questions.map(\.file))
        let replaced = files.filter { FileIdentity(path: $0.path) != $0.identity }
        if !replaced.isEmpty { close() }
        var kept: [Key: [ResolvedFrame]] = [:]
        for question in questions where !replaced.contains(question.file) {
            guard let answer = answers[question.key] else { continue }
            kept[question.key] = answer
            cache.insert(answer, for: question.key)
        }
        return kept
    }

    private func levels(_ reply: [SymbolizerReplies.Level]) -> [ResolvedFrame] {
        guard reply != [SymbolizerReplies.Level(hasNoLocation: true)] else {
            var frame = ResolvedFrame()
            frame.lacksLines = true
            return [frame]
        }
        var levels = levelsByName(reply)
        // gcc names an inlined lambda only `operator()`; its caller may have the full name: `__invoke_impl<void,
        // routes()::<lambda()>&>`.
        for index in levels.indices.dropLast() where levels[index].name == "operator()" {
            guard let closure = levels[index + 1].name.flatMap(TemplateClosure.init(in:)) else { continue }
            levels[index].name = closure.function
            levels[index].simplified = closure.symbol
        }
        return levels
    }

    private func levelsByName(_ reply: [SymbolizerReplies.Level]) -> [ResolvedFrame] {
        reply.enumerated().map { index, level in
            let isInlined = index < reply.count - 1
            guard let rawName = level.rawName else {
                return ResolvedFrame(file: level.file, line: level.line, column: level.column, isInlined: isInlined)
            }
            let (name, language) = demangler.demangle(rawName)
            return ResolvedFrame(
                name: name,
                simplified: SymbolSimplifier.simplify(name, language: language),
                mangled: name == rawName ? nil : rawName,
                file: level.file,
                line: level.line,
                column: level.column,
                isInlined: isInlined
            )
        }
    }

    private static func text(of questions: ArraySlice<Question>) -> [UInt8] {
        questions.flatMap { "\(quoted($0.file.path) ?? "") 0x\(Hexadecimal.text($0.address))\n".utf8 }
    }

    /// The path, quoted for the program; nil if it cannot be quoted.
    private static func quoted(_ path: String) -> String? {
        guard !path.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        return ["\"", "'"].first { !path.contains($0) }.map { $0 + path + $0 }
    }
}
