extension StallRecord {
    /// The thread that holds the lock: a separate object in the line (`thread_id`, `thread_name`, `waits_for`, `frames`).
    public struct LockOwner: Sendable, Equatable {
        /// `thread_id`: the kernel's number.
        public var threadID: Int32
        /// `thread_name`.
        public var threadName: String?
        /// `waits_for`: the address of the lock for which this thread waits itself; hex in the line.
        public var waitsFor: UInt64?
        /// The owner's stack, leaf first. The line has at most eight frames, and none if the stalled thread's own frames need the
        /// space.
        public var frames: [Frame]

        public init(threadID: Int32, threadName: String? = nil, waitsFor: UInt64? = nil, frames: [Frame] = []) {
            self.threadID = threadID
            self.threadName = threadName
            self.waitsFor = waitsFor
            self.frames = frames
        }
    }

    /// Threads of a pool that were found doing the same.
    public struct WorkerGroup: Sendable, Equatable {
        /// `thread_ids`.
        public var threadIDs: [Int32]
        /// Their stack, leaf first; empty if it is the record's own. The line has at most eight frames, and none if the record's
        /// own frames need the space.
        public var frames: [Frame]

        public init(threadIDs: [Int32], frames: [Frame] = []) {
            self.threadIDs = threadIDs
            self.frames = frames
        }
    }
}

extension [StallRecord.Frame] {
    /// The frames shown of a thread other than the stalled one: the innermost frames. If none of them is the program's own, half
    /// of them, followed by those from the first own frame on.
    package func shown(_ count: Int) -> [StallRecord.Frame] {
        guard count > 1, let own = firstIndex(where: { $0.inApp == true }), own >= count else { return Array(prefix(count)) }
        // An inlined function precedes the one that contains it.
        let inner = Array(prefix(prefix(count / 2).lastIndex { $0.inlined != true }.map { $0 + 1 } ?? 0))
        var outer = self[own...].prefix(count - inner.count)
        outer[own].skipped = self[inner.count..<own].count { $0.inlined != true }
        return inner + outer
    }
}
