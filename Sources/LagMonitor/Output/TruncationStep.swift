/// What of a record gives way, step by step, until enough of the stack's own frames fit.
package struct TruncationStep {
    package let functions: Bool
    package let ownerFrames: Int
    /// So many of the stack's own frames are enough to take this step.
    let sufficientFrames: Int

    private static let all = [
        TruncationStep(functions: true, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        // Who holds the lock is half of the answer, and worth more than frames near the root.
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: 16),
        TruncationStep(functions: false, ownerFrames: 3, sufficientFrames: 8),
    ]
    private static let last = TruncationStep(functions: false, ownerFrames: 0, sufficientFrames: 0)

    /// Writes a line with the widest strings with which the leaf frame fits; failing that, the widest that fit at all. Who is to blame is
    /// worth more than one frame, so the tightest strings, which do not say it, are the last resort.
    /// - Parameters:
    ///   - hasFunctions: whether frames have full names that say more.
    ///   - ownersHaveFrames: whether there are stacks of other threads.
    ///   - write: makes the line anew. Returns how many frames it has, nil when it is too long without any.
    package static func fit(
        frames: Int,
        hasFunctions: Bool,
        ownersHaveFrames: Bool,
        _ write: (StringCaps, TruncationStep) -> Int?
    ) {
        func attempt(_ caps: StringCaps) -> Int? {
            for step in all where step.functions ? hasFunctions : ownersHaveFrames {
                let written = write(caps, step)
                if let written, written >= min(step.sufficientFrames, frames) { return written }
            }
            return write(caps, last)
        }
        let levels = StringCaps.fromWideToTight
        var widest: StringCaps?
        for caps in levels where caps.priority > .always {
            guard let written = attempt(caps) else { continue }
            if written > 0 || frames == 0 { return }
            widest = widest ?? caps
        }
        // Not nil for any allowed limit: a test tries the lowest with the longest values there are.
        _ = attempt(widest ?? levels[levels.count - 1])
    }
}
