internal import LagCapture

/// How many calls deep a thread is in a language whose calls do not nest on the C stack: CPython from 3.11 on, Ruby.
///
/// Of a program in such a language the C stack does not say what is called from where: a loop's wait and what its handlers wait in are calls of C from
/// the same function, and how far in each of them is follows from what it keeps there itself.
///
/// One thread at a time. Some 20 µs; 1 ms at first, where the process has such a language.
struct CallDepth {
    private struct Known {
        let runtime: any LanguageRuntime
        let innerTid: Int32
        let memory: MemoryCopy
    }

    /// The processor's time for one reading.
    private static let readNanoseconds: UInt64 = 500_000
    private static let recognisers = [PythonRuntime.recognise, RubyRuntime.recognise]

    private let process: Int32
    private let tid: Int32
    /// Nil within: the process has no such language.
    private var known: Known??

    init(process: Int32, tid: Int32) {
        self.process = process
        self.tid = tid
    }

    /// Of a thread that sleeps, which the caller makes sure of afterwards; nil: not known.
    mutating func read() -> Int? {
        if known == nil { known = .some(recognise()) }
        guard let known = known ?? nil, let place = known.runtime.prepare(tid: tid, innerTid: known.innerTid) else { return nil }
        known.memory.open(nil, within: Self.readNanoseconds)
        defer { known.memory.close(nil) }
        let thread = RuntimeThread(tid: tid, innerTid: known.innerTid, place: place, registers: RuntimeRegisters())
        return known.runtime.depth(of: thread, known.memory)
    }

    private func recognise() -> Known? {
        guard let modules = ModuleMap(process: process) else { return nil }
        modules.refresh()
        let image = ProcessImage(modules)
        for recognise in Self.recognisers {
            guard case .found(let runtime) = recognise(image), let memory = MemoryCopy(process: process) else { continue }
            return Known(runtime: runtime, innerTid: NamespaceThread.innerTid(of: tid, process: process), memory: memory)
        }
        return nil
    }
}
