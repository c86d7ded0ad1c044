internal import LagCapture
internal import LagDiagnosis
internal import LagReport

/// Names the modules and functions of captured frames. Reporter thread only; may block and allocate.
struct FrameNamer {
    private let modules: ModuleMap
    private var symbolizer = Symbolizer()
    // A process has some dozens of modules; their number is bounded by the map.
    private var moduleInfos: [Int: ModuleInfo] = [:]

    init(modules: ModuleMap) { self.modules = modules }

    /// The frames in the order given.
    mutating func name(_ captured: [FrameBuffer.Frame], _ rules: InAppRules) -> [StallRecord.Frame] {
        let found = captured.map { $0.module.flatMap { info(of: $0) } }
        let queries = zip(captured, found).compactMap { frame, module in
            module.map {
                SymbolQuery(
                    modulePath: $0.path,
                    buildID: $0.buildID,
                    offset: frame.pc &- $0.bias,
                    isReturnAddress: frame.isReturnAddress
                )
            }
        }
        var symbols = symbolizer.resolve(queries)[...]
        return zip(captured, found).map { captured, module in
            guard let module else { return StallRecord.Frame(pc: captured.pc) }
            let symbol = symbols.removeFirst()
            let inApp = rules.isInApp(modulePath: module.path, symbol: symbol?.simplified)
            return StallRecord.Frame(
                pc: captured.pc,
                module: module.baseName,
                buildID: module.buildID.isEmpty ? nil : module.buildID,
                offset: captured.pc &- module.bias,
                symbol: symbol?.simplified,
                // Of the system's functions the short name says enough.
                function: inApp ? symbol.flatMap { $0.name == $0.simplified ? nil : $0.name } : nil,
                symbolOffset: symbol?.symbolOffset,
                inApp: inApp
            )
        }
    }

    private mutating func info(of index: Int) -> ModuleInfo? {
        if let known = moduleInfos[index] { return known }
        let info = modules.module(at: index)
        moduleInfos[index] = info
        return info
    }
}
