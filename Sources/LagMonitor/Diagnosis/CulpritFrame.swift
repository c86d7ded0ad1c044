/// A frame for the culprit search.
package struct CulpritFrame: Sendable, Equatable {
    /// The simplified name; nil or empty if there is none.
    package var symbol: String?
    /// Its name if there is no symbol: the file and the function's offset, or the frame's own offset if the function's start is
    /// not known.
    package var place: String
    /// By ``InAppRules``.
    package var inApp: Bool
    /// Code of the C library, the loader or a language's runtime: most of what a program does ends there.
    package var isRuntime: Bool
    /// Code of an interpreter or a JIT compiler: it works for a function of its language, and is not to blame if that function
    /// has no name.
    package var isInterpreter: Bool
    /// A function of a language whose name could no longer be read: it may be to blame instead of a named one.
    package var isNameLost: Bool
    /// A lambda that is known only from the library template that calls it: it has no frame of its own.
    package var isFromTemplate: Bool
    /// The program's own, or a library's that was linked into it.
    package var isDoubtful: Bool
    /// A compiled function of the program without a line: functions inlined into it have no frame.
    package var hidesInlined: Bool
    /// Whether its caller's instruction leads to it: false if a pointer called it, nil if that is not known.
    package var isCalledDirectly: Bool?
    /// Whether a library called it that is not linked into its own module.
    package var isCalledByLibrary: Bool
    /// Whether its line is known.
    package var hasLine: Bool
    /// A frame of a language with a runtime, which gave its name.
    package var isOfLanguage: Bool
    /// The loop's own code, or its callers: it is also on the loop's stack while it waits.
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
        isCalledDirectly: Bool? = nil,
        isCalledByLibrary: Bool = false,
        isLoopCode: Bool = false,
        hasLine: Bool = false,
        isOfLanguage: Bool = false
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
        self.isCalledDirectly = isCalledDirectly
        self.isCalledByLibrary = isCalledByLibrary
        self.isLoopCode = isLoopCode
        self.hasLine = hasLine
        self.isOfLanguage = isOfLanguage
    }

    /// What two frames of one function have in common: the symbol or, without one, the place.
    package var function: String {
        if let symbol, !symbol.isEmpty { return symbol }
        return place
    }
}

/// One sample of the stalled thread, or several equal ones.
package struct CulpritStack: Sendable, Equatable {
    /// The time of the stall that the samples cover in total.
    package var weightNanoseconds: UInt64
    /// Leaf first; empty if the sample has no stack.
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
