/// `_Py_DebugOffsets`, which CPython has at the beginning of `_PyRuntime` from version 3.13 on, for debuggers: the offsets of its
/// structures.
///
/// Its layout depends on the version. Source: CPython 3.13, Include/internal/pycore_runtime.h.
struct PythonDebugOffsets {
    /// `_Py_Debug_Cookie`.
    static let cookie = Array("xdebugpy".utf8)
    /// Of the structure, as far as it is read.
    static let bytes = 73 * 8

    /// Places of the members, in words.
    private struct Places {
        let firstInterpreter: Int
        let nextInterpreter: Int
        let firstThread: Int
        /// `ceval_gil`; `gil_runtime_state`, `…_enabled`, `…_locked` and `…_holder` follow.
        let lock: Int
        /// `gc` of the interpreter's state, and `collecting` of that.
        let collector: (interpreter: Int, collecting: Int)
        let threadState: Int
        let frame: Int
        let code: Int
    }

    /// By minor version.
    private static let places: [Int: Places] = [
        13: Places(
            firstInterpreter: 5,
            nextInterpreter: 8,
            firstThread: 9,
            lock: 14,
            collector: (10, 72),
            threadState: 19,
            frame: 28,
            code: 34
        )
    ]

    /// The maximum structure size: a larger offset is invalid.
    private static let maximumOffset: UInt64 = 1 << 20

    /// - Parameter words: what is at `_PyRuntime`.
    /// - Returns: nil if the version is not known, its offsets are invalid, or the build has no lock.
    static func layout(_ words: [UInt8], minor: Int) -> PythonLayout? {
        guard words.starts(with: cookie), let places = places[minor] else { return nil }
        func word(_ index: Int) -> UInt64? {
            words.number(at: index * 8, as: UInt64.self).flatMap { $0 <= maximumOffset ? $0 : nil }
        }
        // Free-threaded: objects have another head.
        guard word(2) == 0, let firstInterpreter = word(places.firstInterpreter),
            let nextInterpreter = word(places.nextInterpreter),
            let firstThread = word(places.firstThread),
            // prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk; the first is the size.
            let nextThread = word(places.threadState + 2), let interpreter = word(places.threadState + 3),
            let current = word(places.threadState + 4), let nativeThread = word(places.threadState + 6),
            let dataStack = word(places.threadState + 7),
            // previous, executable, instr_ptr, localsplus, owner
            let previous = word(places.frame + 1), let executable = word(places.frame + 2),
            let instruction = word(places.frame + 3),
            let owner = word(places.frame + 5),
            // filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds, co_code_adaptive
            let fileName = word(places.code + 1), let qualifiedName = word(places.code + 3),
            let lineTable = word(places.code + 4),
            let firstLine = word(places.code + 5), let instructions = word(places.code + 9),
            max(previous, executable, instruction, owner) < UInt64(PythonLayout.frameBytes) - 8,
            instructions >= 64, instructions <= PythonLayout.maximumCodeBytes,
            max(fileName, qualifiedName, lineTable, firstLine) < instructions
        else { return nil }
        return PythonLayout(
            firstInterpreter: firstInterpreter,
            nextInterpreter: nextInterpreter,
            firstThread: firstThread,
            nextThread: nextThread,
            interpreter: interpreter,
            nativeThread: nativeThread,
            dataStack: dataStack,
            current: .frame(current),
            code: executable,
            previous: previous,
            instruction: instruction,
            owner: owner,
            boundary: .shim(owner: 3),
            // It says so from 3.14 on.
            generatorFrame: 72,
            fileName: fileName,
            qualifiedName: qualifiedName,
            lineTable: lineTable,
            firstLine: firstLine,
            instructions: instructions,
            // `_co_firsttraceable`, then a pointer, then the instructions: in 3.11, 3.12 and 3.13.
            firstTraceable: instructions - 16,
            asciiData: 40,
            compactData: 56,
            lock: lock(places.lock, word),
            collecting: collecting(places.collector, word),
            // `_dictvalues`: four bytes, padded.
            attributes: .inline(24)
        )
    }

    private static func collecting(_ places: (interpreter: Int, collecting: Int), _ word: (Int) -> UInt64?) -> UInt64? {
        guard let collector = word(places.interpreter), let collecting = word(places.collecting), collector > 0, collecting > 0,
            collector + collecting <= maximumOffset
        else { return nil }
        return collector + collecting
    }

    /// Nil if the lock has another layout than in earlier versions.
    private static func lock(_ place: Int, _ word: (Int) -> UInt64?) -> PythonLayout.Lock? {
        guard let pointer = word(place), let start = word(place + 1), let locked = word(place + 3), let holder = word(place + 4),
            pointer > 0, holder == start &+ PythonLock.holder, locked == start &+ PythonLock.locked
        else { return nil }
        return .ofInterpreter(pointer)
    }
}
