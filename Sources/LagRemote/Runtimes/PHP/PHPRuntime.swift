internal import LagCapture

/// PHP 8.2: the frames of its virtual machine.
///
/// A call from PHP to PHP needs no call of a C function; each call of `execute_ex` runs a group of frames. The groups take the places of those calls,
/// between the frames of C that stay. The virtual machine writes down where it is in a function only before what may fail: of a function that computes the line is
/// that of its last call.
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

    /// Without threads of its own, PHP runs in the main thread alone.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { tid == memory.process ? globals : nil }

    private func function(_ stack: PHPStack, at address: UInt64) -> PHPFunction? {
        PHPFunction(layout, at: address) { stack.read($0, $1) }
    }

    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        let stack = PHPStack(memory: memory, layout: layout, globals: globals)
        var seen: Set<UInt64> = []
        for frame in stack.groups().joined() where memory.hasRoom && seen.insert(frame.function).inserted {
            _ = function(stack, at: frame.function)
        }
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory else { return stack }
        let frames = PHPStack(memory: memory, layout: layout, globals: globals)
        var functions: [UInt64: PHPFunction?] = [:]
        let groups = frames.groups().map { group in
            group.compactMap { frame -> LanguageFrame? in
                let found = functions[frame.function] ?? function(frames, at: frame.function)
                functions[frame.function] = .some(found)
                guard let found, let position = found.position(of: frame.instruction) else { return nil }
                return LanguageFrame(code: frame.function, check: found.check, position: position, pc: frame.instruction)
            }
        }
        guard groups.contains(where: { !$0.isEmpty }) else { return stack }
        return stack.replacing(callsOf: execution, by: groups)
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        let live = memory
        func function() -> PHPFunction? { PHPFunction(layout, at: frame.code) { live.bytes($0, $1) } }
        guard let found = function(), found.check == frame.check, let name = found.name() else { return nil }
        let (file, line) = (found.file(), found.line(at: frame.position))
        // The request may have ended while it was read.
        guard function()?.check == frame.check else { return nil }
        return LanguageFrameName(language: "php", function: name, file: file, line: line, isLibrary: found.isUsers ? nil : true)
    }
}
