internal import LagCapture

/// Whether CPython's garbage collector runs in a thread.
///
/// `gc.collecting` of the interpreter is 1 during a collection, including the finalizers and callbacks that it calls. It does not
/// show the thread, which is the one that holds the interpreter's lock. A finalizer that releases the lock, to sleep, does not
/// count as a collection.
///
/// The same walk copies and reads (``MemoryCopy``): eight reads at most, some 5 µs.
///
/// An offset that is wrong for a build would report a collection for each stall. So the data before `collecting` must be what it
/// is in all these versions: `generation0`, which points to the first of `generations`.
///
/// Source: CPython 3.11.2, 3.12.1 and 3.13.0, Include/internal/pycore_gc.h and Modules/gcmodule.c (3.13: Python/gc.c).
struct PythonCollector {
    /// `generation0` and `generations` before `collecting`.
    private static let firstGeneration: UInt64 = 104
    private static let generations: UInt64 = 176

    private let memory: MemoryCopy
    private let layout: PythonLayout
    private let runtime: UInt64

    init(_ memory: MemoryCopy, _ layout: PythonLayout, runtime: UInt64) {
        self.memory = memory
        self.layout = layout
        self.runtime = runtime
    }

    /// - Parameters:
    ///   - state: the thread's.
    ///   - tid: the thread ID in the process's own namespace; a state of another thread does not count.
    func isAtWork(in state: UInt64, tid: Int32) -> Bool {
        guard let collecting = layout.collecting, let lock = layout.lock,
            layout.number(ofState: state, { memory.load($0) }) == tid,
            let interpreter: UInt64 = memory.load(state &+ layout.interpreter), interpreter != 0,
            memory.load(interpreter &+ collecting, as: Int32.self) == 1,
            memory.load(interpreter &+ collecting &- Self.firstGeneration, as: UInt64.self)
                == interpreter &+ collecting &- Self.generations
        else { return false }
        let place: UInt64? =
            switch lock {
            case .ofRuntime(let offset): runtime &+ offset
            case .ofInterpreter(let offset): memory.load(interpreter &+ offset)
            }
        guard let place, place != 0 else { return false }
        return memory.load(place &+ PythonLock.locked, as: Int32.self) == 1
            && memory.load(place &+ PythonLock.holder, as: UInt64.self) == state
    }
}
