internal import LagCapture
internal import LagModel

/// The asyncio task that a CPython thread runs.
///
/// No frame refers to it: it is a C object (`_asyncio.Task`), which the function that runs its step keeps on the C stack, between
/// the call of the evaluation function that runs its coroutine and the call around that. So each word there is a candidate. The
/// task is the object of that type (``PythonTaskType``) with the coroutine whose frame was found; after the coroutine follows its
/// name. It does not matter whether the loop is asyncio's or uvloop's. Tasks of subclasses and Python tasks
/// (`asyncio.tasks._PyTask`) are not supported.
///
/// The search takes too long while a thread is stopped (60 µs), and the offset is the same for one build of the interpreter and
/// one way to the coroutine. So it is searched beforehand, while the thread may be running, and the offset is learned
/// (``PythonTaskLearner``); with the thread's frames, the task is copied from the learned offset, with two reads per coroutine.
/// The same walk copies and reads (``MemoryCopy``).
///
/// Source: CPython 3.11.2, 3.12.1 and 3.13.0, Modules/_asynciomodule.c (`TaskObj`, `task_step_impl`), Include/cpython/genobject.h and longintrepr.h.
struct PythonTask {
    /// Where the interpreter has the types `str` and `int`; nil: not known.
    struct Types: Sendable {
        let text: UInt64?
        let number: UInt64?
    }

    private enum Limit {
        /// Of the C stack: four or five functions.
        static let searchedBytes: UInt64 = 2048
        static let candidates = 48
        /// Coroutines and generators that are tried.
        static let tries = 3
        /// Of a task: its name is 144 bytes behind its begin in CPython 3.11.
        static let taskBytes = 176
        static let nameCharacters: UInt64 = 256
        static let nameBytes = 72 + 4 * 64
        static let stackBytes: UInt64 = 8 << 20
    }

    /// `PyLongObject.lv_tag` of 3.12, and its digits, of 30 bits.
    private static let (numberTag, numberDigits): (UInt64, UInt64) = (16, 24)

    /// A candidate for a task.
    struct Found {
        let task: LanguageTask
        let type: UInt64
        /// How far from the inner call it lies on the stack.
        let distance: UInt64
        /// Its coroutine, and where in the task that is; its name follows.
        let coroutine, field: UInt64
    }

    private let memory: MemoryCopy
    private let layout: PythonLayout
    private let types: Types

    init(_ memory: MemoryCopy, _ layout: PythonLayout, _ types: Types) {
        self.memory = memory
        self.layout = layout
        self.types = types
    }

    /// Coroutines and generators that no other one calls, the outermost first: a task has one of its own, and the awaited ones
    /// are further in.
    static func coroutines(_ groups: [PythonFrameWalk.Group], _ layout: PythonLayout) -> [Coroutine] {
        let found = groups.indices.reversed().lazy.compactMap { index -> Coroutine? in
            guard let frame = groups[index].frames.last, frame.owner == PythonLayout.ownedByGenerator,
                let begin = groups[index].anchor
            else { return nil }
            let end = index + 1 < groups.count ? groups[index + 1].anchor : nil
            return Coroutine(address: frame.address &- layout.generatorFrame, begin: begin, end: end ?? .max)
        }
        return Array(found.prefix(Limit.tries))
    }

    /// One of them, and the part of the C stack between the call that runs it and the one around that.
    struct Coroutine {
        let address: UInt64
        let begin, end: UInt64
    }

    /// The task of the first coroutine that has it at one of these distances.
    func running(_ coroutines: [Coroutine], at distances: [UInt64]) -> Found? {
        for coroutine in coroutines {
            for distance in distances {
                guard let word: UInt64 = memory.load(coroutine.begin &+ distance) else { continue }
                if let found = task(of: coroutine, at: word, distance) { return found }
            }
        }
        return nil
    }

    /// The task of the first coroutine that has it anywhere.
    func search(_ coroutines: [Coroutine]) -> Found? {
        for coroutine in coroutines {
            let candidates = objects(coroutine)
            memory.prefetch(candidates.map(\.address), Limit.taskBytes)
            for candidate in candidates {
                if let found = task(of: coroutine, at: candidate.address, candidate.distance) { return found }
            }
        }
        return nil
    }

    private func task(of coroutine: Coroutine, at address: UInt64, _ distance: UInt64) -> Found? {
        guard let bytes = memory.bytes(address, Limit.taskBytes) else { return nil }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        let fields = stride(from: Int(PythonLayout.size), to: Limit.taskBytes - 8, by: 8)
        guard let field = fields.first(where: { word($0) == coroutine.address }) else { return nil }
        let (type, named) = (word(Int(PythonLayout.type)), word(field + 8))
        return Found(
            task: LanguageTask(address: address, name: name(named)),
            type: type,
            distance: distance,
            coroutine: coroutine.address,
            field: UInt64(field)
        )
    }

    /// The candidates: words of the stack that point elsewhere, aligned like CPython's allocations.
    private func objects(_ coroutine: Coroutine) -> [(address: UInt64, distance: UInt64)] {
        let begin = coroutine.begin
        let searched = min(coroutine.end.saturatingDifference(begin), Limit.searchedBytes)
        memory.prefetch(begin, Int(searched))
        let near = begin.saturatingDifference(Limit.stackBytes)...begin.saturatingSum(Limit.stackBytes)
        var found: [(address: UInt64, distance: UInt64)] = []
        for distance in stride(from: 0, to: searched, by: 8) {
            let place = begin &+ distance
            guard found.count < Limit.candidates, memory.holds(place, 8), let word: UInt64 = memory.load(place) else { break }
            guard word % 16 == 0, word >= 1 << 16, word < 1 << 47, !near.contains(word) else { continue }
            if !found.contains(where: { $0.address == word }) { found.append((word, distance)) }
        }
        return found
    }

    private func name(_ address: UInt64) -> String? {
        memory.prefetch(address, Limit.nameBytes)
        return Self.name(address, layout, types) { memory.bytes($0, $1).map(Array.init) }
    }

    /// The name from a `str`; or, from 3.12 on, from the number that asyncio converts to a name on demand.
    /// - Parameter bytes: reads this many bytes from an address; nil if they cannot be read.
    static func name(_ address: UInt64, _ layout: PythonLayout, _ types: Types, _ bytes: (UInt64, Int) -> [UInt8]?) -> String? {
        guard address != 0, let type: UInt64 = bytes(address &+ PythonLayout.type, 8)?.number(at: 0) else { return nil }
        if type == types.text { return PythonText.string(address, limit: Limit.nameCharacters, layout, bytes) }
        guard type == types.number, let number = bytes(address &+ numberTag, 12),
            number.number(at: 0) == UInt64(1 << 3), let digit: UInt32 = number.number(at: Int(numberDigits - numberTag)),
            digit < 1 << 30
        else { return nil }
        return "Task-\(digit)"
    }
}
