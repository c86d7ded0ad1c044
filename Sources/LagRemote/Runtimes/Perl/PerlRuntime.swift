internal import LagCapture

/// Perl 5.36: the calls of its interpreter.
///
/// A call from Perl to Perl needs no C call; each call of `Perl_runops_standard` runs a group of calls. The groups replace those
/// calls, between the remaining C frames. The line is the one where the statement begins.
final class PerlRuntime: LanguageRuntime {
    let modules: Set<Int>
    let copiesFrames = true
    private let memory: RemoteMemory
    private let layout: PerlLayout
    /// `PL_curinterp`.
    private let interpreter: UInt64
    private let statementFunctions: [UInt64]
    private let execution: DynamicSymbols.Symbol

    private init(
        _ memory: RemoteMemory,
        _ layout: PerlLayout,
        interpreter: UInt64,
        statementFunctions: [UInt64],
        execution: DynamicSymbols.Symbol,
        modules: Set<Int>
    ) {
        self.memory = memory
        self.layout = layout
        self.interpreter = interpreter
        self.statementFunctions = statementFunctions
        self.execution = execution
        self.modules = modules
    }

    /// A program that embeds Perl may have several interpreters in its main thread; it is not known which one runs.
    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        #if !arch(x86_64)
            return .absent
        #endif
        let launcher = image.launcher("perl")
        for (place, module) in image.modules.enumerated()
        where place == 0 || (launcher != nil && module.name.hasPrefix("libperl")) {
            guard let symbols = module.symbols, let execution = symbols.symbol("Perl_runops_standard"),
                let interpreter = symbols.symbol("PL_curinterp")
            else { continue }
            guard let text = symbols.symbol("PL_version"), let version: UInt8 = image.memory.load(text.address) else {
                return .unknown("perl")
            }
            guard let layout = PerlLayout.known.first(where: { $0.version == version }) else {
                return .unknown("perl 5.\(version)")
            }
            // The key of what each thread has for its interpreter.
            guard symbols.symbol("PL_thr_key") != nil else { return .unknown("perl 5.\(version) without threads") }
            return .found(
                PerlRuntime(
                    image.memory,
                    layout,
                    interpreter: interpreter.address,
                    statementFunctions: ["Perl_pp_nextstate", "Perl_pp_dbstate"].compactMap { symbols.symbol($0)?.address },
                    execution: execution,
                    modules: Set([module.index, launcher].compactMap { $0 })
                )
            )
        }
        return .absent
    }

    /// The first interpreter runs in the main thread; those of other threads are not known.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64? {
        guard tid == memory.process, let first: UInt64 = memory.load(interpreter), first != 0 else { return nil }
        return first
    }

    private func program(_ interpreter: UInt64) -> PerlProgram {
        PerlProgram(layout: layout, interpreter: interpreter, statementFunctions: statementFunctions)
    }

    private func stack(of thread: RuntimeThread, _ memory: MemoryCopy) -> PerlStack {
        PerlStack(memory: memory, layout: layout, interpreter: thread.place)
    }

    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) { stack(of: thread, memory).copy() }

    func calls(of thread: RuntimeThread, _ memory: MemoryCopy) -> [CallChain.Call]? {
        stack(of: thread, memory).chain()
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory else { return stack }
        let frames = self.stack(of: thread, memory).groups().frames { place in
            PerlFunction(program(thread.place), at: place) { memory.bytes($0, $1).map { [UInt8]($0) } }
        }
        return stack.replacing(callsOf: execution, by: frames)
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        guard let first: UInt64 = memory.load(interpreter) else { return nil }
        let (live, program) = (memory, program(first))
        return frame.name(in: "perl") {
            PerlFunction(program, at: frame.code) { live.bytes($0, $1) }
        } isLibrary: { _, _ in
            nil
        }
    }
}
