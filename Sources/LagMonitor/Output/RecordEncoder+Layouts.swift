// The formats other than the native one: the same things give way in the same order.
extension RecordEncoder {
    /// The widest strings with which the leaf frame fits; failing that, the widest that fit at all.
    mutating func write(_ event: LineSubject, as layout: any LineLayout) {
        let levels = StringCaps.fromWideToTight
        var widest: Int?
        for level in levels.indices where levels[level].priority > .always {
            guard let frames = attempt(event, as: layout, levels[level]) else { continue }
            if frames > 0 || event.frames.isEmpty { return }
            widest = widest ?? level
        }
        _ = attempt(event, as: layout, levels[widest ?? levels.count - 1])
    }

    /// Writes the line with strings cut to `caps`. Returns how many frames it has, nil when it is too long without any.
    private mutating func attempt(_ event: LineSubject, as layout: any LineLayout, _ caps: StringCaps) -> Int? {
        let hasFunctions = event.frames.contains { $0.function != nil }
        let ownersHaveFrames = event.owners.contains { !$0.frames.isEmpty } || !event.workers.isEmpty
        for step in TruncationStep.all where step.functions ? hasFunctions : ownersHaveFrames {
            var detail = LineDetail(caps: caps, maxLineBytes: limits.maxLineBytes)
            detail.functions = step.functions
            detail.ownerFrames = step.ownerFrames
            let frames = writeMostFrames(event, as: layout, detail)
            if let frames, frames >= min(step.sufficientFrames, event.frames.count) { return frames }
        }
        return writeMostFrames(event, as: layout, LineDetail(caps: caps, maxLineBytes: limits.maxLineBytes))
    }

    /// As many frames as fit, from the leaf on. One more is always longer, so halving finds it.
    private mutating func writeMostFrames(_ event: LineSubject, as layout: any LineLayout, _ detail: LineDetail) -> Int? {
        if write(event, as: layout, detail, frames: event.frames.count) { return event.frames.count }
        guard write(event, as: layout, detail, frames: 0) else { return nil }
        var low = 0
        var high = event.frames.count
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if write(event, as: layout, detail, frames: middle) { low = middle } else { high = middle }
        }
        _ = write(event, as: layout, detail, frames: low)
        return low
    }

    /// Whether the line keeps the limit.
    private mutating func write(_ event: LineSubject, as layout: any LineLayout, _ detail: LineDetail, frames: Int) -> Bool {
        var detail = detail
        detail.frames = frames
        writer.reset()
        layout.write(event, detail, context: context, to: &writer)
        return writer.count <= limits.maxLineBytes
    }
}

/// What of a record gives way, step by step, until enough of the stack's own frames fit.
struct TruncationStep {
    let functions: Bool
    let ownerFrames: Int
    /// So many of the stack's own frames are enough to take this step.
    let sufficientFrames: Int

    static let all = [
        TruncationStep(functions: true, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        // Who holds the lock is half of the answer, and worth more than frames near the root.
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: 16),
        TruncationStep(functions: false, ownerFrames: 3, sufficientFrames: 8),
    ]
}
