internal import LagCapture

/// PHP 8.2: the frames of its virtual machine.
///
/// A call from PHP to PHP needs no C call; each call of `execute_ex` runs a group of frames. The groups replace those calls,
/// between the remaining C frames.
final class PHPRuntime: LanguageRuntime {
    let modules: Set<Int>
    let copiesFrames = true
    private let memory: RemoteMemory
    private let layout: PHPLayout
    private let globals: UInt64
    private let execution: DynamicSymbols.Symbol

    private init(
        _ memory: RemoteMemory,
        _ layout: PHPLayout,
        globals: UInt64,
        execution: DynamicSymbols.Symbol,
        modules: Set<Int>
    ) {
        self.memory = memory
        self.layout = layout
        self.globals = globals
        self.execution = execution
        self.modules = modules
    }

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        for (place, module) in image.modules.enumerated() where place == 0 || module.name.hasPrefix("libphp") {
            guard let symbols = module.symbols, let execution = symbols.symbol("execute_ex"),
                symbols.symbol("zend_execute") != nil
            else { continue }
            guard let globals = symbols.symbol("executor_globals") else { return .unknown("php with threads") }
            guard let layout = PHPLayout.known.first(where: { $0.globalsBytes == globals.size }) else {
                return .unknown("php whose executor_globals has \(globals.size) bytes")
            }
            return .found(
                PHPRuntime(image.memory, layout, globals: globals.address, execution: execution, modules: [module.index])
            )
        }
        return .absent
    }

    /// Without threads of its own, PHP only runs in the main thread.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { tid == memory.process ? globals : nil }

    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        PHPStack(memory: memory, layout: layout, globals: globals).copy()
    }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]? {
        PHPStack(memory: memory, layout: layout, globals: globals).chain()
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory else { return stack }
        let calls = PHPStack(memory: memory, layout: layout, globals: globals, registers: thread.registers).groups()
        let frames = calls.frames { place in
            PHPFunction(layout, at: place) { memory.bytes($0, $1).map { [UInt8]($0) } }
        }
        return stack.replacing(callsOf: execution, by: frames)
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        let live = memory
        let layout = layout
        return frame.name(in: "php") {
            PHPFunction(layout, at: frame.code) { live.bytes($0, $1) }
        } isLibrary: { found, _ in
            found.isUsers ? nil : true
        }
    }
}
