struct TimerModes: Hashable, Sendable {
    /// Every mode there is: the timers of tickers.
    static let every = TimerModes(numbers: [], isCommon: false, isEvery: true)

    /// The numbers of the modes, ascending.
    private(set) var numbers: [UInt32]
    /// Whether it was added to the set of common modes, so that it gets into those that become one later.
    var isCommon: Bool
    let isEvery: Bool

    var isEmpty: Bool { numbers.isEmpty && !isCommon && !isEvery }

    func contains(_ mode: RunLoopMode) -> Bool { isEvery || numbers.contains(mode.number) }

    /// Whether this is one mode and nothing else; for the set of common modes, never.
    func isOnly(_ mode: RunLoopMode) -> Bool { !isCommon && numbers.count == 1 && numbers[0] == mode.number }

    mutating func insert(_ mode: RunLoopMode) {
        guard !numbers.contains(mode.number) else { return }
        numbers.insert(mode.number, at: numbers.firstIndex { $0 > mode.number } ?? numbers.endIndex)
    }

    mutating func remove(_ mode: RunLoopMode) { numbers.removeAll { $0 == mode.number } }
}
