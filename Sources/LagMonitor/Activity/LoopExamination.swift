/// Whether events are ready at the object that a loop waits on.
package enum PendingWork: Sendable, Equatable {
    case none, pending
    /// The kernel does not report it.
    case unknown
}

/// The result of one examination of a loop at work.
package struct LoopExamination: Sendable, Equatable {
    /// It keeps no work waiting: its thread is idle elsewhere, or runs no loop. This is not a stall, whatever its beacon shows.
    package var isQuiet: Bool
    /// It is idle and may work again at any time, like a loop within a handler: it is to be examined again soon, however long
    /// this has lasted.
    package var isResting: Bool
    /// It is quiet because it is being torn down, as its process was asked to exit: what it waits on is closed, or its thread
    /// waits for the process's own threads and children. What the thread did before kept no work waiting either, because the
    /// thread does not return to the loop.
    package var isOver: Bool
    /// It is quiet because what it waits on is closed, which may belong to the end of its process, or not.
    package var mayBeOver: Bool
    /// It may not be doing a loop's work; this shows when it returns to its wait.
    package var isDoubtful: Bool
    /// If it was in doubt before, in the same stretch of work, it still is.
    package var keepsDoubt: Bool
    package var work: PendingWork

    package init(
        isQuiet: Bool = false,
        isResting: Bool = false,
        isDoubtful: Bool = false,
        keepsDoubt: Bool = false,
        mayBeOver: Bool = false,
        isOver: Bool = false,
        work: PendingWork
    ) {
        self.isQuiet = isQuiet
        self.isResting = isResting
        self.isDoubtful = isDoubtful
        self.keepsDoubt = keepsDoubt
        self.mayBeOver = mayBeOver
        self.isOver = isOver
        self.work = work
    }
}
