internal import LagCapture
internal import LagDiagnosis
internal import LagModel
internal import LagOutput

/// Makes a record's frames of captured ones: their modules, functions and, if asked for, lines. Reporter thread only; may block
/// and allocate.
struct FrameBuilder {
    private let modules: ModuleMap
    private var resolver: FrameResolver
    private let languages: (any LanguageFrameSource)?
    // A process has some dozens of modules; their number is bounded by the map.
    private var moduleInfos: [Int: ModuleInfo] = [:]

    init(modules: ModuleMap, languages: (any LanguageFrameSource)? = nil) {
        self.modules = modules
        self.languages = languages
        let files = SymbolFiles(process: modules.process)
        // It costs nothing before it is asked for lines.
        resolver = FrameResolver(symbolizer: Symbolizer(files: files), lines: LineSources.make(files))
    }

    /// Finds the names of frames that will be asked for, and their lines.
    mutating func prepare(_ captured: [FrameBuffer.Frame], withLines: Bool) {
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        _ = resolver.frames(for: Self.queries(for: captured, in: found), withLines: withLines)
    }

    func resolveLanguageFrames() { languages?.resolve() }

    /// Cuts waits for lines short, from any thread.
    var waitLimit: SharedDeadline? { resolver.waitLimit }

    /// The frames in the order given, one for each.
    mutating func frames(_ captured: [FrameBuffer.Frame], _ rules: InAppRules) -> [StallRecord.Frame] {
        levels(captured, rules, withLines: false).map { $0[0] }
    }

    /// The same with files and lines, and with inlined functions before the one they were put into: they come and go with the
    /// compiler's options, so what groups stalls must not depend on them.
    mutating func framesWithLines(_ captured: [FrameBuffer.Frame], _ rules: InAppRules) -> [StallRecord.Frame] {
        levels(captured, rules, withLines: true).flatMap { $0 }
    }

    mutating func close() { resolver.close() }

    private mutating func levels(_ captured: [FrameBuffer.Frame], _ rules: InAppRules, withLines: Bool) -> [[StallRecord.Frame]] {
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        var names = resolver.frames(for: Self.queries(for: captured, in: found), withLines: withLines)[...]
        var origins: [Origin?] = []
        var frames: [[StallRecord.Frame]] = zip(captured, found).map { captured, module in
            origins.append(nil)
            if captured.language != 0 { return [frame(ofLanguage: captured, rules)] }
            guard let module else { return [StallRecord.Frame(pc: captured.pc)] }
            let levels = names.removeFirst()
            let frames = (levels.isEmpty ? [ResolvedFrame()] : levels).map { Self.frame(captured, module, $0, rules) }
            let isOwn = frames.contains { $0.inApp == true && $0.file != nil }
            let lacksLines =
                levels.last?.lacksLines == true && !rules.isNamedOwn(modulePath: module.path, symbol: levels.last?.simplified)
            origins[origins.count - 1] = Origin(
                module: module.path,
                hasLine: isOwn,
                lacksLines: lacksLines,
                code: levels.last?.origin ?? .unknown,
                hasUnknownSource: levels.last?.hasUnknownSource ?? false
            )
            return frames
        }
        for index in Self.framesWithoutLines(origins) {
            for level in frames[index].indices { frames[index][level].inApp = false }
        }
        for index in Self.doubtfulFrames(origins) {
            for level in frames[index].indices { frames[index][level].isDoubtful = true }
        }
        return frames
    }

    /// What lines say about where a frame's code was compiled.
    struct Origin {
        let module: String
        /// It is the program's own, and its line is known.
        let hasLine: Bool
        /// Its module's lines leave it out.
        let lacksLines: Bool
        var code = CodeOrigin.unknown
        /// ``ResolvedFrame/hasUnknownSource``.
        var hasUnknownSource = false
    }

    /// Which frames are not the program's own source: code without lines, where its own code has them. Of a static program all of it: the C library's and other
    /// libraries' functions are in the same file there. Of another one what may come from a packaged library. (It has its C library from elsewhere, as
    /// the stack shows, and what it has without lines may well be its own.)
    static func framesWithoutLines(_ origins: [Origin?]) -> [Int] {
        let modules = Set(origins.compactMap { $0?.module }.filter { $0 != "[vdso]" })
        let withLines = Set(origins.compactMap { $0?.hasLine == true ? $0?.module : nil })
        return origins.indices.filter { index in
            guard let origin = origins[index], origin.lacksLines else { return false }
            if modules.count == 1 { return !withLines.isEmpty }
            return withLines.contains(origin.module) && origin.code == .between
        }
    }

    /// Which frames may be a library's that was linked in: what lies between its own object files and packaged ones, and code of C without lines, where its own code
    /// has them and nothing else says whose it is.
    static func doubtfulFrames(_ origins: [Origin?]) -> [Int] {
        let withLines = Set(origins.compactMap { $0?.hasLine == true ? $0?.module : nil })
        return origins.indices.filter { index in
            guard let origin = origins[index], origin.hasUnknownSource else { return false }
            return origin.code == .between
                || (origin.code == .unknown && origin.lacksLines && withLines.contains(origin.module))
        }
    }

    /// One for each frame that has a module.
    private static func queries(for captured: [FrameBuffer.Frame], in modules: [ModuleInfo?]) -> [SymbolQuery] {
        zip(captured, modules).compactMap { frame, module in
            module.map {
                SymbolQuery(
                    modulePath: $0.path,
                    buildID: $0.buildID,
                    offset: frame.pc &- $0.bias,
                    isReturnAddress: frame.isReturnAddress
                )
            }
        }
    }

    private static func frame(_ captured: FrameBuffer.Frame, _ module: ModuleInfo, _ name: ResolvedFrame, _ rules: InAppRules)
        -> StallRecord.Frame
    {
        let inApp =
            !captured.isRuntime
            && rules.isInApp(
                modulePath: module.path,
                symbol: name.simplified,
                file: name.file,
                // Where its source file is known, that says whose it is.
                isOfLibrary: name.isOfRuntime || (name.origin == .packaged && name.file == nil),
                isRust: name.isRust
            )
        var frame = StallRecord.Frame(
            pc: captured.pc,
            module: rules.program.name(ofModule: module.path),
            buildID: module.buildID.isEmpty ? nil : module.buildID,
            offset: captured.pc &- module.bias,
            symbol: name.symbol(inApp: inApp),
            // Of the system's functions the short name says enough, and of merged ones too much.
            function: inApp && !name.isFolded && name.name != name.simplified ? name.name : nil,
            symbolOffset: name.symbolOffset,
            file: name.file,
            line: name.line,
            inlined: name.isInlined ? true : nil,
            inApp: inApp,
            isAsync: captured.isAsync ? true : nil
        )
        frame.variant = name.variant
        frame.isForwarder = captured.isAsync && name.isForwarder
        frame.isRuntime = name.isOfRuntime || InAppRules.isRuntime(modulePath: module.path)
        frame.holdsOwnClosure = !inApp && holdsOwnClosure(name, module, rules)
        if name.simplified == nil { frame.functionOffset = captured.functionStart &- module.bias }
        return frame
    }

    /// A library on disk has lambdas of its own.
    static func holdsOwnClosure(_ name: ResolvedFrame, _ module: ModuleInfo, _ rules: InAppRules) -> Bool {
        guard let symbol = name.simplified, TemplateClosure.isCalled(by: symbol),
            let closure = name.variant.flatMap(TemplateClosure.init(in:))
        else { return false }
        return rules.isInApp(modulePath: module.path, symbol: closure.symbol)
    }

    /// One that its runtime does not name has no name: its own function there is the runtime's.
    private func frame(ofLanguage captured: FrameBuffer.Frame, _ rules: InAppRules) -> StallRecord.Frame {
        guard let name = languages?.name(of: captured.language) else { return StallRecord.Frame(pc: captured.pc) }
        var frame = StallRecord.Frame(
            pc: captured.pc,
            symbol: name.symbol,
            function: name.function == name.symbol ? nil : name.function,
            file: name.file,
            line: name.line,
            language: name.language,
            inApp: rules.isInApp(
                languageFile: name.file,
                symbol: name.symbol,
                language: name.language,
                isLibrary: name.isLibrary
            )
        )
        frame.variant = name.variant
        return frame
    }

    private mutating func info(of index: Int) -> ModuleInfo? {
        if let known = moduleInfos[index] { return known }
        let info = modules.module(at: index)
        moduleInfos[index] = info
        return info
    }
}
