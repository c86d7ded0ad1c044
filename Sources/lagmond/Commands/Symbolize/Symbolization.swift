internal import ArgumentParser
internal import Glibc
internal import LagDiagnosis
internal import LagModel
internal import LagReader
internal import LagSymbols

/// One run of `lagmond symbolize`: lines in, lines out.
struct Symbolization {
    /// Reading a big program's line tables takes long, and no program waits for it.
    private static let deadline = Duration.seconds(60)
    private static let cacheBytes = 64 << 20
    private static let readBytes = 1 << 16

    private var finder: BinaryFinder
    private var resolver: FrameResolver
    private var editor: StallLineEditor
    private let program: String?
    private let isText: Bool
    private let isTerminal = isatty(STDOUT_FILENO) != 0
    /// The input's name, for messages.
    private var input = ""
    private var lineNumber = 0
    private var brokenLines = 0
    private var output: [UInt8] = []

    /// - Parameters:
    ///   - symbolizer: the program that resolves lines; nil: only names.
    ///   - rules: which code is the program's own.
    init(finder: BinaryFinder, symbolizer: String?, rules: InAppRules, isText: Bool) {
        self.finder = finder
        program = symbolizer
        editor = StallLineEditor(rules: rules)
        self.isText = isText
        let lines = symbolizer.map {
            LineSymbolizer(program: $0, debugRoots: finder.debugRoots, deadline: Self.deadline, cacheBytes: Self.cacheBytes)
        }
        resolver = FrameResolver(symbolizer: Symbolizer(debugRoots: finder.debugRoots), lines: lines)
    }

    /// Reads all files (`-` is stdin), then ends the child.
    /// - Returns: the exit status: the first error's, or success.
    mutating func run(_ files: [String]) -> Int32 {
        defer {
            if let program, resolver.hasNoWorkingLines {
                Diagnostics.report(
                    "\(program): gave no answer, so it is not a working llvm-symbolizer: only names, no files and lines"
                )
            }
            resolver.close()
        }
        var status = ExitStatus.success
        for file in files {
            let outcome = read(file)
            if status == ExitStatus.success { status = outcome.status }
            if outcome.isLast { break }
        }
        return status
    }

    private mutating func read(_ path: String) -> (status: Int32, isLast: Bool) {
        lineNumber = 0
        brokenLines = 0
        do throws(InputError) {
            let file = try InputFile(path)
            input = file.name
            defer {
                if brokenLines > 1 {
                    Diagnostics.report("\(input): further lines that are not JSON, left unchanged: \(brokenLines - 1)")
                }
            }
            let line = ProgressLine([file], isStreaming: true)
            defer { line.end() }
            let source = file.source(progress: line.progress)
            var splitter = LineSplitter()
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readBytes, alignment: 16)
            defer { buffer.deallocate() }
            while true {
                let count = try source.read(into: buffer)
                if count == 0, let last = splitter.finish() { take(last) }
                for piece in splitter.take(Array(buffer[..<count])[...]) { take(piece) }
                // At once, because a user may be watching a stream.
                do throws(ExitCode) { try flush() } catch { return (error.rawValue, true) }
                if count == 0 { return (ExitStatus.success, false) }
            }
        } catch {
            Diagnostics.report("\(error)")
            return (error.isDamage ? ExitStatus.success : ExitStatus.noInput, false)
        }
    }

    private mutating func take(_ piece: LineSplitter.Piece) {
        switch piece {
        case .fragment(let bytes): output += shown(bytes)
        case .line(let bytes):
            lineNumber += 1
            output += changed(bytes) ?? shown(bytes)
        }
    }

    /// Text that is not one of our records, or a damaged one: unchanged in JSON output, without control characters in readable
    /// text.
    private func shown(_ bytes: [UInt8]) -> [UInt8] {
        guard isText || isTerminal else { return bytes }
        let isLine = bytes.last == UInt8(ascii: "\n")
        return Array(PlainText.sanitized(isLine ? bytes.dropLast() : bytes[...]).utf8) + (isLine ? [UInt8(ascii: "\n")] : [])
    }

    /// The changed line; nil if it stays unchanged.
    private mutating func changed(_ bytes: [UInt8]) -> [UInt8]? {
        // A line that is not an object is not ours.
        guard bytes.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "{") else { return nil }
        do {
            guard let line = StallLine(try JSONText(bytes)) else { return nil }
            let edited = editor.edited(line, levels: levels(of: line.frames))
            guard isText else { return edited }
            return try StallLine(JSONText(edited)).map { Array("\(StallText($0).paragraph)\n".utf8) }
        } catch {
            brokenLines += 1
            if brokenLines == 1 { Diagnostics.report("\(input):\(lineNumber): not JSON, left unchanged: \(error)") }
            return nil
        }
    }

    private mutating func levels(of frames: [StallLine.Frame]) -> [[ResolvedFrame]] {
        let queries = frames.map { frame -> SymbolQuery? in
            guard !frame.hasPlace, let id = frame.buildID, !id.isEmpty, let offset = frame.offset,
                let path = finder.path(buildID: id, module: frame.module)
            else { return nil }
            return SymbolQuery(modulePath: path, buildID: id, offset: offset, isReturnAddress: frame.isReturnAddress)
        }
        var found = resolver.frames(for: queries.compactMap { $0 })[...]
        return queries.map { $0 == nil ? [] : found.removeFirst() }
    }

    private mutating func flush() throws(ExitCode) {
        try StandardOutput.write(output)
        output.removeAll(keepingCapacity: true)
    }
}
