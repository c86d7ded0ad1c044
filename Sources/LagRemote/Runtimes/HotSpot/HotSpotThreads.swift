internal import LagModel

/// The threads of a JVM by the kernel's thread IDs.
///
/// They are read while the process runs, so the list may change meanwhile; an entry is a thread only while it has that ID.
final class HotSpotThreads: Sendable {
    /// More are not searched. Each costs two reads of some 0.5 µs, once.
    private static let maximumThreads = 4096

    private let memory: RemoteMemory
    private let layout: HotSpotLayout.Threads
    private let known = PthreadMutex(Known())

    private struct Known {
        var numbers: [Int32: UInt64] = [:]
        /// The list at that time; empty: some of its threads had no ID yet.
        var list: [UInt64] = []
        /// How many failed queries the same list answers. Later, an ended thread's structure may be reused for another one.
        var answersLeft = 0
    }

    /// A thread whose structure reuses a freed one does not change the list.
    private static let answersInVain = 16

    init(_ memory: RemoteMemory, _ layout: HotSpotLayout.Threads) {
        self.memory = memory
        self.layout = layout
    }

    /// The JVM's thread for a thread ID in the process's own namespace; nil: not a thread of the JVM.
    func thread(_ tid: Int32) -> UInt64? {
        if let found = known.withLock({ $0.numbers[tid] }), number(of: found) == tid { return found }
        let list = threads()
        let isSame = known.withLock { known in
            guard known.list == list, known.answersLeft > 0 else { return false }
            known.answersLeft -= 1
            return true
        }
        if isSame { return nil }
        var found = Known(list: list, answersLeft: Self.answersInVain)
        for thread in list {
            if let number = number(of: thread), number > 0 { found.numbers[number] = thread } else { found.list = [] }
        }
        known.withLock { $0 = found }
        return found.numbers[tid]
    }

    private func number(of thread: UInt64) -> Int32? {
        memory.load(thread &+ layout.system).flatMap { $0 == 0 ? nil : memory.load($0 &+ layout.number) }
    }

    private func threads() -> [UInt64] {
        switch layout.list {
        case .array(let place, let count, let items):
            guard let list: UInt64 = memory.load(place), let count: UInt32 = memory.load(list &+ count), count > 0,
                let first: UInt64 = memory.load(list &+ items)
            else { return [] }
            let bytes = memory.bytes(first, min(Int(count), Self.maximumThreads) * 8) ?? []
            return stride(from: 0, to: bytes.count, by: 8).compactMap { bytes.number(at: $0) }
        case .chain(let first, let next):
            var (found, thread): ([UInt64], UInt64) = ([], memory.load(first) ?? 0)
            while thread != 0, found.count < Self.maximumThreads {
                found.append(thread)
                thread = memory.load(thread &+ next) ?? 0
            }
            return found
        }
    }
}
