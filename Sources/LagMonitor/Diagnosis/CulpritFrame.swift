/// A frame as the search for the culprit sees it.
package struct CulpritFrame: Sendable, Hashable {
    /// The simplified name; nil or empty when there is none.
    package var symbol: String?
    /// Build-id and offset.
    package var place: String
    /// By ``InAppRules``.
    package var inApp: Bool

    package init(symbol: String?, place: String, inApp: Bool) {
        self.symbol = symbol
        self.place = place
        self.inApp = inApp
    }

    /// What two frames of one function share: the symbol or, without one, the place.
    package var function: String {
        if let symbol, !symbol.isEmpty { return symbol }
        return place
    }
}

/// One look at the stalled thread.
package struct CulpritStack: Sendable, Hashable {
    /// The stretch of the stall that this look stands for.
    package var weightNanoseconds: UInt64
    /// Leaf first; empty when the look brought no stack.
    package var frames: [CulpritFrame]
    /// Whether the walk reached the thread's first frame.
    package var isComplete: Bool

    package init(weightNanoseconds: UInt64, frames: [CulpritFrame], isComplete: Bool = true) {
        self.weightNanoseconds = weightNanoseconds
        self.frames = frames
        self.isComplete = isComplete
    }
}
