internal import LagCapture
internal import Synchronization

/// Learns the type of a process's asyncio tasks, `_asyncio.Task`, which has no symbol, and their offsets on the stack.
///
/// Any thread; two threads, serialised.
final class PythonTaskLearner: Sendable {
    private static let name = Array("_asyncio.Task\0".utf8)
    /// `PyTypeObject.tp_name`.
    private static let nameOffset: UInt64 = 24
    /// Ways to a coroutine: a step, a wake-up, those of other loops.
    private static let maximumDistances = 4
    private static let maximumTries = 32
    private static let searchNanoseconds: UInt64 = 2_000_000

    private struct Learned {
        var type: UInt64 = 0
        var distances: [UInt64] = []
        var triesLeft = PythonTaskLearner.maximumTries
        /// A coroutine had no task at any of them.
        var hasMissed = true
    }

    private let memory: RemoteMemory
    private let learned = Mutex(Learned())

    init(_ memory: RemoteMemory) { self.memory = memory }

    /// From the inner call on, the last one that was learned first.
    var distances: [UInt64] { learned.withLock { $0.distances } }

    /// Call it before a capture if the known offsets did not suffice: some 100 µs. The thread may be running, so a result may be
    /// wrong; it only determines where a task is searched.
    func learn(_ layout: PythonLayout, _ types: PythonTask.Types, state: UInt64, tid: Int32) {
        guard learned.withLock({ $0.hasMissed && $0.triesLeft > 0 }), let copy = MemoryCopy(process: memory.process) else {
            return
        }
        copy.open(nil, within: Self.searchNanoseconds)
        defer { copy.close(nil) }
        let coroutines = PythonTask.coroutines(PythonFrameWalk(copy, layout).groups(of: state, tid: tid), layout)
        guard !coroutines.isEmpty else { return }
        learned.withLock { $0.triesLeft -= 1 }
        guard let found = PythonTask(copy, layout, types).search(coroutines), isTask(found) else { return }
        learned.withLock { learned in
            learned.distances.removeAll { $0 == found.distance }
            learned.distances.insert(found.distance, at: 0)
            learned.distances = Array(learned.distances.prefix(Self.maximumDistances))
            learned.hasMissed = false
        }
    }

    /// - Parameter found: nil where a coroutine had none.
    func isTask(_ found: PythonTask.Found?) -> Bool {
        guard let found else {
            learned.withLock { $0.hasMissed = true }
            return false
        }
        return learned.withLock { $0.type } == found.type || isNamed(found.type)
    }

    private func isNamed(_ type: UInt64) -> Bool {
        guard let name: UInt64 = memory.load(type &+ Self.nameOffset), memory.bytes(name, Self.name.count) == Self.name else {
            return false
        }
        learned.withLock { $0.type = type }
        return true
    }
}
