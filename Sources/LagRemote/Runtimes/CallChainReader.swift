internal import LagCapture

/// Reads the calls of a process's main thread.
///
/// Not of other threads: most belong to pools, which poll in a job and rest in another function of the caller, as a loop's
/// handler would.
///
/// One thread at a time. Takes some 40 µs; a millisecond while it is not known whether the process has such a language, which is
/// checked ever more seldom.
struct CallChainReader {
    private struct Known {
        let runtime: any LanguageRuntime
        let innerTid: Int32
        let memory: MemoryCopy
    }

    /// The processor time for one reading.
    private static let readNanoseconds: UInt64 = 500_000
    private static let recognisers = [
        PythonRuntime.recognise, RubyRuntime.recognise, PerlRuntime.recognise, PHPRuntime.recognise,
    ]

    private let process: Int32
    private let tid: Int32
    private let memory: RemoteMemory
    private var known: Known?
    /// An interpreter may be loaded, or start, after the first wait.
    private var search = SearchBackoff(first: 16, most: 1024)
    /// Readings since the interpreter last showed where the thread is. Sometimes it does not, for example while a wait begins.
    private var failures = 0
    /// The last calls that were read twice.
    private var last: [CallChain.Call]?
    private static let mostFailures = 16

    init(process: Int32, tid: Int32) {
        self.process = process
        self.tid = tid
        memory = RemoteMemory(process: process)
    }

    /// For a sleeping thread, which the caller verifies afterwards; nil: not known.
    mutating func read() -> CallChain? {
        guard tid == process, search.isDue() else { return nil }
        if known == nil { known = recognise() }
        guard let known, let place = known.runtime.place(tid: tid, innerTid: known.innerTid) else {
            failures += 1
            if known == nil || failures >= Self.mostFailures { search.wasInVain() }
            return nil
        }
        failures = 0
        let thread = RuntimeThread(tid: tid, innerTid: known.innerTid, place: place, registers: RuntimeRegisters())
        func once() -> [CallChain.Call]? {
            known.memory.open(nil, within: Self.readNanoseconds)
            defer { known.memory.close(nil) }
            return known.runtime.calls(of: thread, known.memory)
        }
        // It may run meanwhile: a reading that was made twice is not torn. The thread may still move on afterwards, and sleep
        // again in the same C call: the loop's stretch of work is compared later (`ExaminedCall`, `HangMeter`).
        guard let calls = once(), calls == last || calls == once() else { return nil }
        last = calls
        return CallChain(calls: calls)
    }

    /// Whether the code of its language shows the thread in a handler of the loop that had that rest; nil: it cannot be read
    /// now. Half a millisecond at most.
    func isInLoop(_ now: CallChain, of rest: CallChain) -> Bool? {
        guard let known, let branch = now.branch(from: rest) else { return false }
        return known.runtime.isInLoop(branch)
    }

    private func recognise() -> Known? {
        guard let modules = ModuleMap(process: process) else { return nil }
        modules.refresh()
        let image = ProcessImage(modules, memory)
        for recognise in Self.recognisers {
            guard case .found(let runtime) = recognise(image), let memory = MemoryCopy(process: process) else { continue }
            return Known(runtime: runtime, innerTid: NamespaceThread.innerTid(of: tid, process: process), memory: memory)
        }
        return nil
    }
}
