struct TimerModes: Hashable, Sendable {
    /// Every existing mode: for the timers of tickers.
    static let every = TimerModes(numbers: [], isCommon: false, isEvery: true)

    /// The numbers of the modes, ascending.
    private(set) var numbers: [UInt32]
    /// Whether it was added to the set of common modes, so that it is also added to modes that become common later.
    var isCommon: Bool
    let isEvery: Bool

    var isEmpty: Bool { numbers.isEmpty && !isCommon && !isEvery }

    func contains(_ mode: RunLoopMode) -> Bool { isEvery || numbers.contains(mode.number) }

    /// Whether this is exactly one mode; never for the set of common modes.
    func isOnly(_ mode: RunLoopMode) -> Bool { !isCommon && numbers.count == 1 && numbers[0] == mode.number }

    mutating func insert(_ mode: RunLoopMode) {
        guard !numbers.contains(mode.number) else { return }
        numbers.insert(mode.number, at: numbers.firstIndex { $0 > mode.number } ?? numbers.endIndex)
    }

    mutating func remove(_ mode: RunLoopMode) { numbers.removeAll { $0 == mode.number } }
}
