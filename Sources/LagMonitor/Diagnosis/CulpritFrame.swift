/// A frame as the search for the culprit sees it.
package struct CulpritFrame: Sendable, Hashable {
    /// The simplified name; nil or empty when there is none.
    package var symbol: String?
    /// What names it where there is no symbol: file and offset of the function, of the frame itself where its beginning is not known.
    package var place: String
    /// By ``InAppRules``.
    package var inApp: Bool
    /// Code of the C library, the loader or a language's runtime: whatever a program does ends there.
    package var isRuntime: Bool
    /// Code of an interpreter, or of what compiles at run time: it works for a function of its language, and where that has no name it is not to blame.
    package var isInterpreter: Bool
    /// A function of a language whose name could not be had any more: another one than what it works for may be to blame.
    package var isNameLost: Bool
    /// A lambda that is known by the library's template alone which calls it: no frame is its own.
    package var isFromTemplate: Bool
    /// The program's own or a library's that was linked into it.
    package var isDoubtful: Bool
    /// Compiled code without a line: what the compiler has put into it has no frame.
    package var hidesInlined: Bool
    /// Whether it is known at which line it is.
    package var hasLine: Bool
    /// The loop's own code, or what called that: on its stack while it waits, too.
    package var isLoopCode: Bool

    package init(
        symbol: String?,
        place: String,
        inApp: Bool,
        isRuntime: Bool = false,
        isInterpreter: Bool = false,
        isNameLost: Bool = false,
        isFromTemplate: Bool = false,
        isDoubtful: Bool = false,
        hidesInlined: Bool = false,
        isLoopCode: Bool = false,
        hasLine: Bool = false
    ) {
        self.symbol = symbol
        self.place = place
        self.inApp = inApp
        self.isRuntime = isRuntime
        self.isInterpreter = isInterpreter
        self.isNameLost = isNameLost
        self.isFromTemplate = isFromTemplate
        self.isDoubtful = isDoubtful
        self.hidesInlined = hidesInlined
        self.isLoopCode = isLoopCode
        self.hasLine = hasLine
    }

    /// What two frames of one function share: the symbol or, without one, the place.
    package var function: String {
        if let symbol, !symbol.isEmpty { return symbol }
        return place
    }
}

/// One sample of the stalled thread, or several equal ones.
package struct CulpritStack: Sendable, Hashable {
    /// The time of the stall that the samples cover in all.
    package var weightNanoseconds: UInt64
    /// Leaf first; empty when the sample has no stack.
    package var frames: [CulpritFrame]
    /// Whether the walk reached the thread's first frame.
    package var isComplete: Bool
    /// In how many samples it was found; at least 1.
    package var samples: UInt64

    package init(weightNanoseconds: UInt64, frames: [CulpritFrame], isComplete: Bool = true, samples: UInt64 = 1) {
        self.weightNanoseconds = weightNanoseconds
        self.frames = frames
        self.isComplete = isComplete
        self.samples = max(1, samples)
    }
}
