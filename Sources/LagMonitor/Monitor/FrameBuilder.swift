internal import LagCapture
internal import LagDiagnosis
internal import LagModel
internal import LagOutput

/// Turns captured frames into a record's frames: their modules, functions and, if requested, lines. Reporter thread only; may
/// block and allocate.
struct FrameBuilder {
    /// Each may cost a pass over the module's symbols.
    private static let maximumTailCalls = 4
    // On aarch64 a call may lead to a part that the linker adds.
    #if arch(x86_64)
        private static let findsTailCalls = true
    #else
        private static let findsTailCalls = false
    #endif

    private let modules: ModuleMap
    private var resolver: FrameResolver
    private let languages: (any LanguageFrameSource)?
    // A process has some dozens of modules; the module map bounds their number.
    private var moduleInfos: [Int: ModuleInfo] = [:]

    init(modules: ModuleMap, languages: (any LanguageFrameSource)? = nil) {
        self.modules = modules
        self.languages = languages
        let files = SymbolFiles(process: modules.process)
        // It costs nothing until lines are requested.
        resolver = FrameResolver(symbolizer: Symbolizer(files: files), lines: LineSources.make(files))
    }

    init(modules: ModuleMap, resolver: FrameResolver) {
        self.modules = modules
        self.resolver = resolver
        languages = nil
    }

    /// Looks up the names, and the lines, of frames that will be requested.
    mutating func prepare(_ captured: [FrameBuffer.Frame], withLines: Bool) {
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        _ = resolver.frames(for: Self.queries(for: captured, in: found), withLines: withLines)
    }

    func resolveLanguageFrames() { languages?.resolve() }

    /// Cuts waits for lines short; any thread.
    var waitLimit: SharedDeadline? { resolver.waitLimit }

    /// The frames in the order given, one for each.
    mutating func frames(_ captured: [FrameBuffer.Frame], _ rules: InAppRules) -> [StallRecord.Frame] {
        levels(captured, rules, withLines: false, isWhole: false).map { $0[0] }
    }

    /// The same with files and lines. Inlined functions come before the function that contains them. They depend on compiler
    /// options, so stalls must not be grouped by them.
    /// - Parameter isWhole: no frame between these is left out.
    mutating func framesWithLines(_ captured: [FrameBuffer.Frame], _ rules: InAppRules, isWhole: Bool) -> [StallRecord.Frame] {
        levels(captured, rules, withLines: true, isWhole: isWhole).flatMap { $0 }
    }

    mutating func close() { resolver.close() }

    private mutating func levels(
        _ captured: [FrameBuffer.Frame],
        _ rules: InAppRules,
        withLines: Bool,
        isWhole: Bool
    ) -> [[StallRecord.Frame]] {
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        let names = resolver.frames(for: Self.queries(for: captured, in: found), withLines: withLines)
        return levels(captured, in: found, named: names, rules, withTailCalls: withLines && isWhole)
    }

    /// - Parameter names: the levels of each frame that has a module.
    mutating func levels(
        _ captured: [FrameBuffer.Frame],
        in modules: [ModuleInfo?],
        named names: [[ResolvedFrame]],
        _ rules: InAppRules,
        withTailCalls: Bool
    ) -> [[StallRecord.Frame]] {
        var names = names[...]
        var origins: [Origin?] = []
        var callee: Callee?
        var areCalledDirectly: [Int: Bool] = [:]
        var frames: [[StallRecord.Frame]] = zip(captured, modules).map { captured, module in
            origins.append(nil)
            let next = callee
            callee = nil
            if captured.language != 0 { return [frame(ofLanguage: captured, rules)] }
            guard let module else { return [StallRecord.Frame(pc: captured.pc)] }
            let levels = names.removeFirst()
            var frames = (levels.isEmpty ? [ResolvedFrame()] : levels).map { Self.frame(captured, module, $0, rules) }
            // Where frames are left out, the called function may be one of them.
            var called = levels.last?.callees.first
            let isOfLibrary = frames.last?.inApp == false
            if withTailCalls, Self.findsTailCalls, let next, let caller = levels.last {
                let chain = tailCalls(captured, of: caller, before: next, module, rules)
                for tailCall in chain.frames { frames.insert(tailCall, at: 0) }
                called = chain.last
            }
            if let next {
                if let start = next.start, next.module == module.path, called?.start == start {
                    areCalledDirectly[origins.count - 2] = true
                } else if levels.last?.callsPointer == true || (isOfLibrary && next.module != module.path) {
                    // A library cannot name what is in the program.
                    areCalledDirectly[origins.count - 2] = false
                }
            }
            callee = Callee(module: module.path, symbol: levels.last?.simplified, start: levels.last?.start)
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
        for (index, isDirect) in areCalledDirectly { frames[index][frames[index].count - 1].isCalledDirectly = isDirect }
        return frames
    }

    /// The functions that went on with a jump between `caller` and the next frame, in the order of their calls: the one that
    /// `caller` has called, and those to which it and its successors can only have jumped; and the next one, if it is known.
    private mutating func tailCalls(
        _ captured: FrameBuffer.Frame,
        of caller: ResolvedFrame,
        before next: Callee,
        _ module: ModuleInfo,
        _ rules: InAppRules
    ) -> (frames: [StallRecord.Frame], last: ResolvedFrame?) {
        var frames: [StallRecord.Frame] = []
        var called = caller.callees.first
        // A function without a name may be the same. Parts that the compiler splits off a function have its simplified name.
        while let function = called, frames.count < Self.maximumTailCalls,
            next.module != module.path || (next.symbol != nil && next.symbol != function.simplified),
            let known = withFile(function, of: caller, module),
            let frame = Self.tailCall(captured, module, known, rules), !frames.contains(where: { $0.symbol == frame.symbol })
        {
            frames.append(frame)
            called = Self.query(function, module).flatMap { resolver.successor(of: $0) }
        }
        return (frames, called)
    }

    private static func query(_ function: ResolvedFrame, _ module: ModuleInfo) -> SymbolQuery? {
        function.start.map { query($0, module, isReturnAddress: false) }
    }

    private static func query(_ offset: UInt64, _ module: ModuleInfo, isReturnAddress: Bool) -> SymbolQuery {
        SymbolQuery(modulePath: module.path, buildID: module.buildID, offset: offset, isReturnAddress: isReturnAddress)
    }

    /// The called function with its source file. Nil if its module has lines, but none for this function: then it may be of a
    /// library that was linked into the module.
    private mutating func withFile(_ called: ResolvedFrame, of caller: ResolvedFrame, _ module: ModuleInfo) -> ResolvedFrame? {
        guard let query = Self.query(called, module) else { return nil }
        guard let line = resolver.line(of: query) else { return caller.file == nil && !caller.lacksLines ? called : nil }
        guard let file = line.file else { return nil }
        var called = called
        called.file = file
        return called
    }

    /// The frame of a called function that went on with a jump; nil unless it is certainly the program's own code.
    static func tailCall(
        _ captured: FrameBuffer.Frame,
        _ module: ModuleInfo,
        _ called: ResolvedFrame,
        _ rules: InAppRules
    ) -> StallRecord.Frame? {
        guard called.origin != .between else { return nil }
        var frame = frame(captured, module, called, rules)
        guard frame.inApp == true, case .code = FrameRole(symbol: frame.symbol) else { return nil }
        // Its place is not known: the address is its caller's.
        (frame.symbolOffset, frame.file) = (nil, nil)
        frame.inlined = true
        frame.tailCall = true
        frame.isCalledDirectly = true
        return frame
    }

    /// The function of the next frame towards the leaf.
    private struct Callee {
        let module: String
        let symbol: String?
        let start: UInt64?
    }

    /// One query for each frame that has a module.
    private static func queries(for captured: [FrameBuffer.Frame], in modules: [ModuleInfo?]) -> [SymbolQuery] {
        zip(captured, modules).compactMap { frame, module in
            module.map { query(frame.pc &- $0.bias, $0, isReturnAddress: frame.isReturnAddress) }
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
                // If the source file is known, it decides the origin.
                isOfLibrary: name.isOfRuntime || (name.origin == .packaged && name.file == nil),
                isRust: name.isRust
            )
        var frame = StallRecord.Frame(
            pc: captured.pc,
            module: rules.program.name(ofModule: module.path),
            buildID: module.buildID.isEmpty ? nil : module.buildID,
            offset: captured.pc &- module.bias,
            symbol: name.symbol(inApp: inApp),
            // For a system function the short name is enough; for a merged function the full name would be misleading.
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

    /// A frame that its runtime does not name gets no name: the native function there belongs to the runtime.
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
