/// The events of one observation, in the order in which they must be handled. Allocates nothing.
package struct DetectorEvents: Sendable {
    /// The maximum of one observation: suspected, ended, opened, ended, opened, wantsPing.
    private static let capacity = 6

    private var slots = InlineArray<6, DetectorEvent>(repeating: .suspected)
    package private(set) var count = 0

    package init() {}

    package subscript(index: Int) -> DetectorEvent {
        precondition(index >= 0 && index < count, "event \(index) of \(count)")
        return slots[index]
    }

    var hasOpened: Bool {
        for index in 0..<count { if case .opened = slots[index] { return true } }
        return false
    }

    /// Several rules may suspect a stall in one observation: the capture is prepared once.
    mutating func appendSuspicion() {
        for index in 0..<count where slots[index] == .suspected { return }
        append(.suspected)
    }

    /// If this observation opened the stall: another rule has found it as well.
    mutating func updateOpened(_ stall: ActiveStall) {
        var index = count
        while index > 0 {
            index -= 1
            switch slots[index] {
            case .opened(_, let interval): slots[index] = .opened(stall, interval)
            // What was opened before that is another stall.
            case .ended, .suppressed: break
            default: continue
            }
            return
        }
    }

    mutating func append(_ event: DetectorEvent) {
        assert(count < Self.capacity, "more events than one observation brings")
        // Never crash the host: without the event, a stall may be missed, no more.
        guard count < Self.capacity else { return }
        slots[count] = event
        count += 1
    }
}
